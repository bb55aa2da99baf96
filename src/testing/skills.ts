import type { SkillDocumentV2, SkillResource, SkillTool } from '../skill/document.ts';
import { deepFreeze } from '../skill/json.ts';
import type { SkillListing } from '../skill/listing.ts';

/** A sandbox skill as a person has it installed. */
export interface ReadySkill {
  readonly document: SkillDocumentV2 & { resources: SkillResource[]; tools: SkillTool[] };
  readonly listing: SkillListing & { code: { name: string; media_id: string; sha256: string }[] };
  /** Where the scan flagged it: the person's acknowledgement. */
  readonly acknowledged?: string;
}

// The two sandbox fixtures of actor.skill@2, byte for byte, and the listings a registry would give them.

const slugify: ReadySkill = {
  document: {
    skill: 'actor.skill@2',
    slug: 'slugify-a-title',
    name: 'Slugify a title',
    description: 'Use when a draft needs a URL slug: lowercase words joined by hyphens, no network.',
    version: '1.0.0',
    instructions: 'Call slugify with the title. It runs in a sandbox with no network. Use the slug in a URL.',
    resources: [
      {
        path: 'slugify.js',
        media_type: 'text/javascript',
        text: "'use strict';\nlet raw = '';\nprocess.stdin.setEncoding('utf8');\nprocess.stdin.on('data', (chunk) => { raw += chunk; });\nprocess.stdin.on('end', () => {\n  const input = JSON.parse(raw);\n  const slug = String(input.title).toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');\n  process.stdout.write(JSON.stringify({ slug }));\n});\n",
      },
    ],
    tools: [
      {
        name: 'slugify',
        description: 'Turn a title into a URL slug: lowercase words joined by hyphens.',
        language: 'javascript',
        entry: 'slugify.js',
        args: {
          type: 'object',
          properties: {
            title: {
              type: 'string',
              maxLength: 120,
              description: 'The title to turn into a slug.',
            },
            shorten: {
              type: 'boolean',
            },
          },
          required: ['title'],
          additionalProperties: false,
        },
        net: 'deny',
      },
    ],
    requires: {
      kinds: ['skill.run'],
    },
    runs: 'sandbox',
    license: 'MIT',
    author: {
      subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ',
    },
    created_at: '2026-11-08T01:00:00.000Z',
    integrity: {
      alg: 'sha256',
      hash: '84f9b0bc23d10534158184aa9b1952ef078f7e21d4d4fa6f3aa0f3a1e13ca1db',
    },
  },
  listing: {
    listing: 'actor.skill-listing@2',
    slug: 'slugify-a-title',
    version: '1.0.0',
    integrity: {
      alg: 'sha256',
      hash: '84f9b0bc23d10534158184aa9b1952ef078f7e21d4d4fa6f3aa0f3a1e13ca1db',
    },
    code: [
      {
        name: 'slugify.js',
        media_id: 'med_01JAB2C3D4E5F6G7H8J9K0MN01',
        sha256: '01a0ea7f59e91ed7de65b57a921af5b65e62773d382c0222611db048c37d4e24',
      },
    ],
    scan: {
      verdict: 'clean',
      findings: [],
    },
    status: 'listed',
  },
};

const fetchTitle: ReadySkill = {
  document: {
    skill: 'actor.skill@2',
    slug: 'fetch-a-page-title',
    name: 'Fetch a page title',
    description:
      'Use when someone gives a web address and asks what the page is called: reads the title over the internet.',
    version: '2.1.0',
    instructions:
      'Call fetch_title with the https URL. It runs in a sandbox with the internet, and only for this call.',
    resources: [
      {
        path: 'fetch_title.js',
        media_type: 'text/javascript',
        text: "'use strict';\nlet raw = '';\nprocess.stdin.setEncoding('utf8');\nprocess.stdin.on('data', (chunk) => { raw += chunk; });\nprocess.stdin.on('end', async () => {\n  const input = JSON.parse(raw);\n  const response = await fetch(input.url, { signal: AbortSignal.timeout(8000) });\n  const html = await response.text();\n  const title = (html.match(/<title[^>]*>([^<]*)<\\/title>/i) || [])[1] || '';\n  process.stdout.write(JSON.stringify({ status: response.status, title: title.trim() }));\n});\n",
      },
    ],
    tools: [
      {
        name: 'fetch_title',
        description: 'Read a page over https and answer its status and title.',
        language: 'javascript',
        entry: 'fetch_title.js',
        args: {
          type: 'object',
          properties: {
            url: {
              type: 'string',
              pattern: '^https://',
              maxLength: 2048,
            },
          },
          required: ['url'],
          additionalProperties: false,
        },
        net: 'public',
        limits: {
          wall_ms: 15000,
          mem_bytes: 134217728,
        },
      },
    ],
    requires: {
      kinds: ['skill.run', 'send'],
    },
    runs: 'sandbox',
    license: 'MIT',
    author: {
      subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ',
      name: 'Ann',
    },
    integrity: {
      alg: 'sha256',
      hash: '53d984eb0e639c1b07c99b9a5aec6d64ea9e594cbe404a0a9256debf7cb8b49e',
    },
  },
  listing: {
    listing: 'actor.skill-listing@2',
    slug: 'fetch-a-page-title',
    version: '2.1.0',
    integrity: {
      alg: 'sha256',
      hash: '53d984eb0e639c1b07c99b9a5aec6d64ea9e594cbe404a0a9256debf7cb8b49e',
    },
    code: [
      {
        name: 'fetch_title.js',
        media_id: 'med_01JAB2C3D4E5F6G7H8J9K0MN02',
        sha256: 'f75ae8394b4d2e7d7667e0645071534862f321b2015017c26ca49bf1f3a32b80',
      },
    ],
    scan: {
      verdict: 'flagged',
      findings: [
        {
          rule: 'network-use',
          severity: 'flag',
          message: 'The tool uses the network.',
          tool: 'fetch_title',
          path: 'fetch_title.js',
        },
      ],
    },
    status: 'listed',
  },
};

/**
 * Two skills to test with: `slugify` (no network, clean scan) and `fetchTitle` (the internet, a flagged scan).
 * Each goes into `verifySkills` as it is: a document, its listing and, where the scan flagged it, the person's
 * acknowledgement. They are frozen.
 */
export const readySkills: { readonly slugify: ReadySkill; readonly fetchTitle: ReadySkill } = deepFreeze({
  slugify,
  fetchTitle: {
    ...fetchTitle,
    acknowledged: 'a23b8e9ff065e26a5ec3fa70ac4b089a3df0758b60a81ef7dc5e0542b56d6ad6',
  },
});

import { parseArgsSchema } from './args/meta.ts';
import type { SkillDocument, SkillDocumentV2, SkillTool } from './document.ts';
import { quoteName, type SkillIssue } from './issue.ts';
import type { Json } from './json.ts';
import { pointer } from './pointer.ts';
import { utf8 } from './sha256.ts';
import { codePoints } from './text.ts';

const maxResourceBytes = 65_536;
const maxTextCharacters = 20_000;

/** The rules of the contract that join two fields, for a document whose fields have their shapes. */
export function checkRules(document: SkillDocument): SkillIssue[] {
  if (document.skill === 'actor.skill@1') return resourceRules(document);
  return [...resourceRules(document), ...sandboxRules(document), ...toolRules(document)];
}

function issue(path: readonly PropertyKey[], rule: string, message: string): SkillIssue {
  return { path: pointer(path), rule, message };
}

function isCode(path: string): boolean {
  return path.endsWith('.js');
}

function resourceRules(document: SkillDocument): SkillIssue[] {
  const seen = new Set<string>();
  return (document.resources ?? []).flatMap((resource, index) => {
    const at = (field: string) => ['resources', index, field];
    const found: SkillIssue[] = [];
    if (seen.has(resource.path)) {
      found.push(
        issue(at('path'), 'duplicate-path', `Two resources have the path ${quoteName(resource.path)}.`),
      );
    }
    seen.add(resource.path);
    if (isCode(resource.path) !== (resource.media_type === 'text/javascript')) {
      found.push(
        issue(at('media_type'), 'code-media-type', 'A .js resource is text/javascript, and no other is.'),
      );
    }
    const bytes = utf8(resource.text).length;
    if (bytes > maxResourceBytes) {
      found.push(
        issue(at('text'), 'resource-size', `Has ${bytes} bytes; at most ${maxResourceBytes} are allowed.`),
      );
    } else if (!isCode(resource.path) && codePoints(resource.text) > maxTextCharacters) {
      found.push(
        issue(
          at('text'),
          'resource-size',
          `Text that is not code has at most ${maxTextCharacters} characters.`,
        ),
      );
    }
    return found;
  });
}

function sandboxRules(document: SkillDocumentV2): SkillIssue[] {
  const found: SkillIssue[] = [];
  const sandbox = document.runs === 'sandbox';
  if (sandbox !== (document.tools !== undefined)) {
    found.push(
      issue(
        ['tools'],
        'tools-exactly-when-sandbox',
        'A sandbox skill has 1 to 5 tools; a prompt skill none.',
      ),
    );
  }
  if (sandbox !== (document.requires?.kinds?.includes('skill.run') ?? false)) {
    found.push(
      issue(
        ['requires', 'kinds'],
        'skill-run-exactly-when-sandbox',
        'A sandbox skill names "skill.run" here; a prompt skill does not.',
      ),
    );
  }
  if (!sandbox) {
    document.resources?.forEach((resource, index) => {
      if (!isCode(resource.path)) return;
      found.push(
        issue(['resources', index, 'path'], 'code-only-in-sandbox', 'A prompt skill carries no code.'),
      );
    });
  }
  return found;
}

function toolRules(document: SkillDocumentV2): SkillIssue[] {
  const code = new Set(document.resources?.map((resource) => resource.path).filter(isCode));
  const seen = new Set<string>();
  return (document.tools ?? []).flatMap((tool: SkillTool, index) => {
    const found: SkillIssue[] = [];
    if (seen.has(tool.name)) {
      found.push(
        issue(['tools', index, 'name'], 'duplicate-tool', `Two tools have the name ${quoteName(tool.name)}.`),
      );
    }
    seen.add(tool.name);
    if (!code.has(tool.entry)) {
      found.push(
        issue(
          ['tools', index, 'entry'],
          'entry-is-code-resource',
          "Must name one of the skill's own .js resources.",
        ),
      );
    }
    const args = parseArgsSchema(tool.args as Json, pointer(['tools', index, 'args']));
    return args.ok ? found : [...found, ...args.issues];
  });
}

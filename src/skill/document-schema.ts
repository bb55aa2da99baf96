import * as z from 'zod/mini';
import type { SkillDocumentV1, SkillDocumentV2 } from './document.ts';
import {
  dateTime,
  form,
  integrity,
  resourcePath,
  slug,
  text,
  toolName,
  uniqueList,
  userId,
  version,
} from './fields.ts';
import type { Json } from './json.ts';

// `actor.skill@1` and `@2` field by field. The rules that join two fields are in document-rules.ts.

const kindsOfBoth = [
  'codes.task',
  'actor.action',
  'computer.run',
  'computer.write',
  'computer.input',
  'computer.browser',
  'computer.desk',
  'robot.move',
  'space',
  'publish',
  'post',
  'send',
  'install',
  'routine',
  'money',
  'device.camera',
  'device.location',
  'device.notify',
] as const;

const host = form(/^(?=.{1,253}$)([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/, 253);
const app = form(/^[a-z][a-z0-9._-]{0,63}$/, 64);

const requires = <const Kinds extends readonly string[]>(kinds: Kinds) =>
  z.strictObject({
    kinds: z.optional(uniqueList(z.enum(kinds), kinds.length)),
    apps: z.optional(uniqueList(app, 20)),
    hosts: z.optional(uniqueList(host, 20)),
  });

const common = {
  slug,
  name: text(1, 80),
  description: text(1, 280),
  version,
  instructions: text(1, 20_000),
  license: z.optional(text(1, 64)),
  author: z.optional(z.strictObject({ subject: userId, name: z.optional(text(1, 80)) })),
  created_at: z.optional(dateTime),
  integrity,
};

const textTypes = ['text/markdown', 'text/plain', 'application/json', 'text/csv'] as const;
const textExtensions = ['md', 'txt', 'json', 'csv'] as const;

/** `actor.skill@1`: instructions and text. */
export const documentV1: z.ZodMiniType<SkillDocumentV1> = z.strictObject({
  skill: z.literal('actor.skill@1'),
  ...common,
  resources: z.optional(
    z
      .array(
        z.strictObject({
          path: resourcePath(textExtensions),
          media_type: z.enum(textTypes),
          text: text(0, 20_000),
        }),
      )
      .check(z.maxLength(10)),
  ),
  requires: z.optional(requires(kindsOfBoth)),
  runs: z.literal('prompt'),
});

const tool = z.strictObject({
  name: toolName,
  description: text(1, 200),
  language: z.literal('javascript'),
  entry: resourcePath(['js']),
  // Its own meta-schema reads it: args/meta.ts.
  args: z.custom<Json>((value) => value !== undefined, {
    error: 'Must be present.',
    params: { rule: 'type' },
  }),
  net: z.optional(z.enum(['deny', 'openvibe-only', 'public'])),
  limits: z.optional(
    z.strictObject({
      wall_ms: z.optional(z.int().check(z.gte(1), z.lte(30_000))),
      mem_bytes: z.optional(z.int().check(z.gte(1), z.lte(268_435_456))),
    }),
  ),
});

/** `actor.skill@2`: as @1, or with code that runs in a sandbox. */
export const documentV2: z.ZodMiniType<SkillDocumentV2> = z.strictObject({
  skill: z.literal('actor.skill@2'),
  ...common,
  resources: z.optional(
    z
      .array(
        z.strictObject({
          path: resourcePath([...textExtensions, 'js']),
          media_type: z.enum([...textTypes, 'text/javascript']),
          text: text(0, 65_536),
        }),
      )
      .check(z.maxLength(10)),
  ),
  tools: z.optional(z.array(tool).check(z.minLength(1), z.maxLength(5))),
  requires: z.optional(requires([...kindsOfBoth, 'skill.run'])),
  runs: z.enum(['prompt', 'sandbox']),
});

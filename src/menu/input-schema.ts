import type { Json, JsonObject } from '../skill/json.ts';
import { hasInvisible, visible } from '../skill/text.ts';

/** A tool's input as JSON Schema: the author's own args, always with `properties`. */
export type InputSchema = JsonObject & { readonly type: 'object'; readonly properties: JsonObject };

/** The schema, or why the tool cannot stand in any provider's menu. */
export type InputSchemaResult = { ok: true; schema: InputSchema } | { ok: false; message: string };

// What every provider takes as a property key; one wrong key makes it refuse the whole request.
const propertyName = /^[a-zA-Z0-9_.-]{1,64}$/;

/** The args of a tool as its menu shows them: equal to the author's, with invisible characters made visible. */
export function inputSchema(args: Json): InputSchemaResult {
  const { properties = {}, ...rest } = args as JsonObject & { properties?: JsonObject };
  const shown: [string, Json][] = [];
  for (const [name, property] of Object.entries(properties)) {
    if (!propertyName.test(name)) {
      return {
        ok: false,
        message: `A property is not named by 1 to 64 of letters, digits, "_", "." and "-".`,
      };
    }
    if (hasHidden(withoutDescription(property))) {
      return { ok: false, message: `The property "${name}" allows values with invisible characters.` };
    }
    shown.push([name, visibleDescriptions(property)]);
  }
  const schema = { ...(visibleDescriptions(rest) as JsonObject), properties: Object.fromEntries(shown) };
  return { ok: true, schema: inOrder(args as JsonObject, schema) };
}

// One joiner or variation selector after a visible character is how some scripts and emoji are written; a run of
// invisible characters, or one of any other kind, hides something.
function hasHidden(property: Json): boolean {
  const text = JSON.stringify(property).replaceAll('\\n', '');
  const joiner =
    /(?<=[\p{L}\p{M}\p{S}\p{N}])(?:\u200c|\ufe0f\u200d|\ufe0f|\u200d)(?=[\p{L}\p{M}\p{S}\p{N}\p{P}])/gu;
  return hasInvisible(text.replace(joiner, ''));
}

// Keeps the author's own order of keys; `properties` comes last where he wrote none.
function inOrder(args: JsonObject, schema: JsonObject): InputSchema {
  const keys = new Set([...Object.keys(args), 'properties']);
  return Object.fromEntries([...keys].map((key) => [key, schema[key] as Json])) as InputSchema;
}

function withoutDescription(property: Json): Json {
  const { description: _, ...rest } = property as JsonObject;
  return 'items' in rest ? { ...rest, items: withoutDescription(rest.items as Json) } : rest;
}

function visibleDescriptions(schema: Json): Json {
  const object = schema as JsonObject;
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => {
      if (key === 'description') return [key, visible(value as string)];
      return [key, key === 'items' ? visibleDescriptions(value) : value];
    }),
  );
}

import { inspect } from 'node:util';

/** Every text that can be had from a value: its whole graph, hidden properties and symbols too. */
export function everythingIn(value: unknown): string {
  const found: string[] = [inspect(value, { depth: 20, showHidden: true }), JSON.stringify(value) ?? ''];
  const seen = new Set<unknown>();
  const visit = (part: unknown): void => {
    if (typeof part === 'string') found.push(part);
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    if (part instanceof Headers) found.push(JSON.stringify([...part]));
    for (const key of Reflect.ownKeys(part)) {
      found.push(String(key));
      visit((part as Record<PropertyKey, unknown>)[key]);
    }
    visit((part as { cause?: unknown }).cause);
  };
  visit(value);
  return found.join('\n');
}

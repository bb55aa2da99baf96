import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

function filesOf(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(root, folder, name))
    .sort();
}

/** The module names that a file imports, statically or dynamically, and those it exports from. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)["']([^"']+)["']/g);
  return [...found].map((match) => match[1] ?? '');
}

/** Every file that an entry reaches. */
function reachedFrom(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [join(root, entry)];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const name of importsOf(file)) {
      if (name.startsWith('.')) waiting.push(resolve(dirname(file), name));
      else packages.add(name);
    }
  }
  return { files, packages };
}

describe('what is built', () => {
  test('the root entry, the rules and the SQL store reach no node: module, and only the declared packages', () => {
    const entry = reachedFrom('dist/index.js');
    const rules = reachedFrom('dist/approval/rules/index.js');
    const sql = reachedFrom('dist/store/sql/index.js');
    expect(entry.files.size).toBeGreaterThan(50);
    const declared = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
    const names = [...new Set([...entry.packages, ...rules.packages, ...sql.packages])].map((name) =>
      name === 'zod/mini' ? 'zod' : name,
    );
    expect(names.sort()).toEqual(Object.keys(declared.dependencies).sort());
    expect(names.filter((name) => name.startsWith('node:'))).toEqual([]);
    // What only an entry of its own loads.
    expect(entry.packages).not.toContain('kysely');
    expect(entry.packages).not.toContain('@marcbachmann/cel-js');
    expect([...sql.packages]).toEqual(['kysely']);
  });

  test('the walk would see a node: module', () => {
    expect(
      [...reachedFrom('dist/link/index.js').packages].filter((name) => name.startsWith('node:')).length,
    ).toBeGreaterThan(3);
  });

  test('msw is loaded only where it is asked for', () => {
    const { packages, files } = reachedFrom('dist/testing/index.js');
    expect(packages.has('msw')).toBe(true);
    const importers = [...files].filter((file) => importsOf(file).includes('msw'));
    for (const file of importers) expect(readFileSync(file, 'utf8')).not.toMatch(/^import .*["']msw["']/m);
  });

  test.each(['preload.cjs', 'network.cjs', 'warm.cjs'])(
    '%s stands beside the code that starts it',
    (name) => {
      const built = readFileSync(join(root, 'dist/link/sandbox', name), 'utf8');
      expect(built).toBe(readFileSync(join(root, 'src/link/sandbox', name), 'utf8'));
    },
  );
});

describe('the sources', () => {
  const sources = filesOf('src', '.ts');

  test('no file imports itself over others', () => {
    const graph = new Map(
      sources.map((file) => [
        file,
        importsOf(file)
          .filter((name) => name.startsWith('.'))
          .map((name) => resolve(dirname(file), name)),
      ]),
    );
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      expect(path.includes(file) ? [...path, file].map((one) => relative(root, one)) : []).toEqual([]);
      if (done.has(file)) return;
      for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of sources) visit(file, []);
  });

  test('no file is over 350 lines, and the median is about 100', () => {
    const lengths = sources
      .map((file) => readFileSync(file, 'utf8').split('\n').length)
      .sort((a, b) => a - b);
    expect(lengths.at(-1)).toBeLessThanOrEqual(350);
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThan(125);
  });

  test('C101: nothing outside the Link can start or evaluate code', () => {
    const forbidden =
      /\beval\s*\(|\bnew Function\b|\bFunction\s*\(|['"](?:node:)?(?:vm|child_process|worker_threads|cluster)['"]|import\(\s*[^'")\s]/;
    const outside = sources.filter((file) => !relative(root, file).startsWith(join('src', 'link')));
    expect(
      outside
        .filter((file) => forbidden.test(readFileSync(file, 'utf8')))
        .map((file) => relative(root, file)),
    ).toEqual([]);
  });

  test('C73: nothing depends on the locale', () => {
    const forbidden = /localeCompare|toLocale|Intl\./;
    expect(
      sources
        .filter((file) => forbidden.test(readFileSync(file, 'utf8')))
        .map((file) => relative(root, file)),
    ).toEqual([]);
  });
});

describe('the README', () => {
  test('every block of TypeScript is a region of an example that runs', () => {
    const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
      (match) => match[1]?.trim(),
    );
    const regions = filesOf('examples', '.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\/\/#region .*\n([\s\S]*?)\/\/#endregion/g)].map((match) =>
        match[1]?.trim(),
      ),
    );
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) expect(regions).toContain(block);
  });

  test('its first loop has at most 20 lines', () => {
    const first = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] ?? '';
    expect(first.trim().split('\n').length).toBeLessThanOrEqual(20);
  });
});

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const program = `
const { compileRules } = await import(${JSON.stringify(pathToFileURL(`${root}dist/approval/rules/index.js`).href)});
const when = 'has(args.url) && args.url.matches("^https://[a-z]+$") && args.list.exists(x, x.contains("b"))';
const policy = await compileRules([{ id: 'd', effect: 'deny', when, reason: 'So it is.' }]);
const run = { arguments: { url: 'https://a', list: ['abc'] }, limits: { wall_ms: 1, mem_bytes: 1 }, net: 'deny' };
const context = {
  count: { turn: 0, session: 0, pending: 0 },
  skill: { publisher: null, verdict: 'clean', findings: { fail: 0, flag: 0 } },
};
const { effect } = await policy({ run, owner: { agent: null } }, context);
let refused = false;
try {
  new Function('');
} catch {
  refused = true;
}
process.stdout.write(JSON.stringify([effect, refused]));
`;

test('C101: a policy is loaded and heard where no code can be made of text', () => {
  const args = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', program];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  expect([stdout, stderr]).toEqual(['["deny",true]', '']);
});

test('C101: the expression library itself has none', () => {
  const folder = `${root}node_modules/@marcbachmann/cel-js/lib/`;
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  expect(files.length).toBeGreaterThan(10);
  const makes = files.filter((name) =>
    /\beval\s*\(|\bnew Function\b|\bFunction\s*\(|import\(\s*[^'")\s]/.test(
      readFileSync(folder + name, 'utf8'),
    ),
  );
  expect(makes).toEqual([]);
});

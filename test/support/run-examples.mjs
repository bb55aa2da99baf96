// Runs every built example; each verifies itself, and says so by its exit code.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../build/examples/', import.meta.url));
const results = readdirSync(folder)
  .filter((name) => name.endsWith('.mjs'))
  .sort()
  .map((name) => {
    const { status, stderr } = spawnSync(process.execPath, [folder + name], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    process.stdout.write(`${status === 0 ? 'ok  ' : 'FAIL'} ${name}\n${status === 0 ? '' : stderr}`);
    return status === 0;
  });
const passed = results.filter(Boolean).length;
process.stdout.write(`${passed} passed, ${results.length - passed} failed\n`);
if (passed < results.length || passed === 0) process.exitCode = 1;

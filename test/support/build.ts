import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Builds the package once before the suite: some tests look at what is published, and run it. */
export function setup(): void {
  const cwd = fileURLToPath(new URL('../../', import.meta.url));
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The build failed:\n${stdout}\n${stderr}`);
}

import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSandbox } from '../../src/link/sandbox/open.ts';
import { backends, makeDirectory, toolRun } from '../link/sandbox/help.ts';
import { nodesAtHand } from './nodes.ts';

it('takes the running Node where none is listed', async () => {
  expect(await nodesAtHand()).toEqual([process.execPath]);
  expect(await nodesAtHand(':')).toEqual([process.execPath]);
});

it('takes each that is listed once, and runs tools on it', async () => {
  await using directory = await makeDirectory();
  const copy = join(directory.path, 'another-node');
  copyFileSync(process.execPath, copy);
  chmodSync(copy, 0o755);
  expect(await nodesAtHand(`${copy}:${process.execPath}:${copy}`)).toEqual([copy, process.execPath]);
  for (const backend of backends) {
    const sandbox = await openSandbox({ backend, node: copy, directory: directory.path, warm: 0 });
    expect(await sandbox.run(toolRun('process.stdout.write("1")'))).toMatchObject({ kind: 'exited' });
    await sandbox.close();
  }
});

it('fails for what is no Node of this library', async () => {
  await using directory = await makeDirectory();
  const old = join(directory.path, 'old');
  writeFileSync(old, `#!/bin/sh\necho '{"version":"20.18.3","data":"VmData:\\t 9 kB\\n","libraries":[]}'\n`);
  chmodSync(old, 0o755);
  for (const path of ['/no/such/node', '/bin/true', old, 'node', directory.path]) {
    const listed = `${process.execPath}:${path}`;
    await expect(nodesAtHand(listed)).rejects.toThrow(`SKILL_RUN_NODES: ${path} is no Node 20.19`);
  }
});

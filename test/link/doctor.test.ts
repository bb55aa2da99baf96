import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type DoctorReport, doctor } from '../../src/link/doctor.ts';
import { createLocalLink } from '../../src/link/local-link.ts';
import { renderDoctor } from '../../src/link/render-doctor.ts';
import { findProgram } from '../../src/link/sandbox/host.ts';
import { layers } from '../../src/link/sandbox/layer.ts';
import { utilLinuxPrograms } from '../../src/link/sandbox/util-linux.ts';
import { ann } from './helpers.ts';
import { backends, makeDirectory } from './sandbox/help.ts';

const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let directory: Awaited<ReturnType<typeof makeDirectory>>;
beforeEach(async () => {
  directory = await makeDirectory();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await directory[Symbol.asyncDispose]();
});

const about = (report: DoctorReport, name: string) => report.backends.find(({ backend }) => backend === name);

/** A folder for PATH with what util-linux needs, and with `bwrap` where a script for it is given. */
function path(bwrap?: string): string {
  const folder = join(directory.path, 'bin');
  mkdirSync(folder);
  for (const name of utilLinuxPrograms) symlinkSync(findProgram(name) ?? '', join(folder, name));
  if (bwrap !== undefined) {
    writeFileSync(join(folder, 'bwrap'), `#!/bin/sh\n${bwrap}\n`);
    chmodSync(join(folder, 'bwrap'), 0o755);
  }
  return folder;
}

describe('doctor', () => {
  it('says what this machine holds', async () => {
    const report = await doctor();
    expect(report).toMatchObject({ ok: true, backend: backends[0], platform: `linux ${process.arch}` });
    expect(report.nets).toContain('deny');
    expect(process.versions.node).toContain(report.node.version);
    for (const backend of backends) {
      expect(about(report, backend)).toMatchObject({
        found: true,
        works: true,
        version: expect.stringMatching(/^\d+\.\d+/),
        problem: null,
        withheld: backend === 'bwrap' ? null : expect.stringMatching(/held by bwrap alone/),
      });
    }
    expect(report.layers.filter(({ required }) => required).every(({ state }) => state === 'on')).toBe(true);
    const text = renderDoctor(report);
    expect(text).toContain(`Skills can run on this machine, through ${backends[0]}`);
    expect(text.split('Run:')).toHaveLength(3 - backends.length);
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });

  it('names the package where bwrap is not installed, and says that seccomp is absent', async () => {
    vi.stubEnv('PATH', path());
    const report = await doctor();
    expect(report).toMatchObject({ ok: true, backend: 'util-linux', nets: ['deny'] });
    expect(about(report, 'bwrap')).toMatchObject({ found: false, version: null, works: false, nets: [] });
    expect(about(report, 'bwrap')?.problem).toContain('Run: sudo apt-get install bubblewrap');
    expect(renderDoctor(report)).toMatch(/^absent +a filter of system calls.*not required/m);
  });

  it('is not well where the wanted backend is missing, though another would do', async () => {
    vi.stubEnv('PATH', path());
    const report = await doctor({ backend: 'bwrap' });
    expect(report).toMatchObject({ ok: false, backend: null, nets: [] });
    expect(about(report, 'util-linux')?.works).toBe(true);
  });

  it('says why a bwrap that is installed does not work', async () => {
    vi.stubEnv('PATH', path('[ "$1" = --version ] && echo "bubblewrap 0.8.0" && exit; exit 1'));
    const report = await doctor();
    expect(about(report, 'bwrap')).toMatchObject({ found: true, version: '0.8.0', works: false });
    expect(renderDoctor(report)).toMatch(/^bwrap +0\.8\.0, does not work\n +\S.*Run: /m);
  });

  // Another of its sandboxes does all that a tool without network needs.
  it.each(backends.filter((name) => name === 'bwrap'))('says what %s withholds, and why', async () => {
    const real = findProgram('bwrap');
    vi.stubEnv('PATH', path(`case " $* " in *" /egress "*) exit 1;; esac; exec ${real} "$@"`));
    const report = await doctor();
    expect(report).toMatchObject({ ok: true, backend: 'bwrap', nets: ['deny'] });
    expect(about(report, 'bwrap')).toMatchObject({
      works: true,
      problem: null,
      withheld: expect.stringContaining('Run: '),
    });
    const text = renderDoctor(report);
    expect(text).toMatch(/through bwrap, with the networks: deny\./);
    expect(text).toMatch(/^bwrap +\S+, works\n +\S.*Run: /m);
    expect(text).toMatch(/^absent +a network through one checked proxy; not required/m);
  });

  const dropped = {
    bwrap: [
      ['bwrap', '--clearenv', 'environment'],
      ['bwrap', '--unshare-ipc', 'namespaces'],
      ['bwrap', '--require=/rt/preload.cjs', 'node'],
    ],
    'util-linux': [
      ['env', '-i', 'environment'],
      ['unshare', '--ipc', 'namespaces'],
      ['unshare', '--require=/rt/preload.cjs', 'node'],
    ],
  } as const;
  it.each(backends.flatMap((backend) => dropped[backend].map((drop) => [backend, ...drop] as const)))(
    'says for %s that one layer is absent where %s loses %s: %s',
    async (backend, program, word, layer) => {
      const real = findProgram(program);
      const folder = path();
      rmSync(join(folder, program), { force: true });
      const script = `for a; do shift; [ "$a" = ${word} ] || set -- "$@" "$a"; done; exec ${real} "$@"`;
      writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      vi.stubEnv('PATH', folder);
      const report = await doctor({ backend });
      const named = (state: string) =>
        report.layers.filter((one) => one.state === state).map(({ name }) => name);
      expect(report).toMatchObject({ ok: false, backend: null });
      expect(named('absent')).toEqual([layers[layer]]);
      // The last to be looked at.
      expect(named('unknown')).toEqual([
        ...(layer === 'node' ? [] : [layers.output, layers.node]),
        ...(backend === 'bwrap' ? [] : [layers.seccomp]),
        'a network through one checked proxy',
      ]);
      expect(renderDoctor(report)).toContain(`\nabsent      ${layers[layer]}\n`);
    },
  );

  it('says that nothing runs where there is no program at all', async () => {
    vi.stubEnv('PATH', directory.path);
    const report = await doctor();
    expect(report).toMatchObject({ ok: false, backend: null });
    expect(new Set(report.layers.map(({ state }) => state))).toEqual(new Set(['unknown']));
    expect(renderDoctor(report)).toMatch(/^unknown +an ordinary user$/m);
    expect(renderDoctor(report)).toMatch(/^Skills cannot run on this machine\./);
    expect(renderDoctor(report).match(/Run: sudo apt-get install/g)).toHaveLength(2);
  });

  it('says that a Node is of no use, with what is odd in its path made visible', async () => {
    const node = `${directory.path}/\u001b[2Jnode`;
    const report = await doctor({ node });
    expect(report).toMatchObject({ ok: false, node: { path: node, version: null } });
    expect(renderDoctor(report)).toMatch(/^node +of no use, /m);
    expect(renderDoctor(report)).not.toContain('\u001b');
  });

  it('throws for an option that is not one', async () => {
    await expect(doctor({ backend: 'docker' as never })).rejects.toMatchObject({ code: 'option_invalid' });
  });

  it('is asked of a Link, for the backend that the Link was made with', async () => {
    await using link = createLocalLink({ owner: ann.subject, skills: 'on', backend: 'util-linux' });
    expect(await link.doctor()).toMatchObject({ ok: true, backend: 'util-linux' });
  });
});

describe('skill-run doctor', () => {
  /** Runs the built program; `before` are words in front of its command. */
  function run(args: string[], before: string[] = []): Promise<{ code: number; out: string }> {
    const [file = '', ...rest] = [...before, process.execPath, cli, ...args];
    const env = { PATH: process.env.PATH, TMPDIR: directory.path };
    return new Promise((resolve) => {
      execFile(file, rest, { env }, (error, out) => resolve({ code: Number(error?.code ?? 0), out }));
    });
  }

  it('ends with 0 where skills can run', async () => {
    const { code, out } = await run(['doctor', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ok: true });
  });

  // A user of a new namespace who may change its settings, and forbids any further one.
  it('ends with 1 where user namespaces are forbidden, and names the command', async () => {
    const forbid = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"';
    const user = ['unshare', '--user', '--map-user=1000', '--keep-caps', 'sh', '-c', forbid, 'sh'];
    const { code, out } = await run(['doctor'], user);
    expect(code).toBe(1);
    expect(out).toContain('Skills cannot run on this machine.');
    expect(out.match(/Run: sudo sysctl -w user\.max_user_namespaces=15000/g)).toHaveLength(backends.length);
  });
});

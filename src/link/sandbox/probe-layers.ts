import { readFileSync, readlinkSync } from 'node:fs';
import { nobody } from './host.ts';
import type { Lack, Layer } from './layer.ts';
import type { Backend } from './types.ts';

const namespaces = ['user', 'mnt', 'pid', 'ipc', 'net', 'uts'] as const;

/**
 * What a running process lacks of its layers, read from outside it; empty when all is there.
 *
 * A canary inside cannot tell them apart: where one layer holds, a second that is missing does not show.
 */
export function missingLayers(pid: number, backend: Backend): Lack[] {
  try {
    return readLayers(pid, backend);
  } catch {
    return [{ layer: 'limits', what: 'a process that can be looked at' }];
  }
}

function readLayers(pid: number, backend: Backend): Lack[] {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const limits = readFileSync(`/proc/${pid}/limits`, 'latin1');
  const host = readFileSync('/proc/self/status', 'latin1');
  const field = (name: string, of = status): string =>
    new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(of)?.[1] ?? '';
  // One that the host is under itself, as in Docker, is inherited and says nothing of ours. A kernel before 5.9
  // does not count them: there ours shows only where the host has none.
  const filters = (of: string): number => Number(field('Seccomp_filters', of) || field('Seccomp', of));
  const limit = (name: string): string =>
    new RegExp(`^${name}\\s+\\S+\\s+(\\S+)`, 'm').exec(limits)?.[1] ?? '';
  const uid = process.getuid?.() === 0 ? nobody : process.getuid?.();
  const parts: [layer: Layer, what: string, holds: boolean][] = [
    ...namespaces.map((name): [Layer, string, boolean] => [
      'namespaces',
      `its own ${name} namespace`,
      readlinkSync(`/proc/${pid}/ns/${name}`) !== readlinkSync(`/proc/self/ns/${name}`),
    ]),
    [
      'user',
      'an ordinary user',
      field('Uid')
        .split(/\s+/)
        .every((id) => Number(id) === uid),
    ],
    ['privileges', 'no new privileges', field('NoNewPrivs') === '1'],
    [
      'privileges',
      'no capabilities',
      ['CapPrm', 'CapEff', 'CapAmb'].every((name) => /^0+$/.test(field(name))),
    ],
    ['seccomp', 'the seccomp filter', backend !== 'bwrap' || filters(status) > filters(host)],
    ['limits', 'the limit on data', /^\d+$/.test(limit('Max data size'))],
    ['limits', 'the limit on processor time', /^\d+$/.test(limit('Max cpu time'))],
    ['limits', 'the limit on open files', limit('Max open files') === '64'],
    ['limits', 'the limit on written files', limit('Max file size') === '0'],
    ['limits', 'the limit on processes', backend !== 'util-linux' || limit('Max processes') === '64'],
    ['limits', 'the limit on core files', limit('Max core file size') === '1'],
  ];
  return parts.filter(([, , holds]) => !holds).map(([layer, what]) => ({ layer, what }));
}

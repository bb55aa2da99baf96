import { visible } from '../skill/text.ts';
import type { BackendReport, DoctorReport } from './doctor.ts';

/** A {@link DoctorReport} for a terminal: lines of plain text, ended by a line end. */
export function renderDoctor(report: DoctorReport): string {
  const { platform, kernel, node, backend, nets, backends, layers } = report;
  const lines = [
    report.ok
      ? `Skills can run on this machine, through ${backend}, with the networks: ${nets.join(', ')}.`
      : 'Skills cannot run on this machine.',
    '',
    row('system', `${platform}, kernel ${kernel}`),
    row('node', `${node.version ?? 'of no use'}, ${visible(node.path)}`),
    ...backends.flatMap(backendLines),
    '',
    ...layers.map(({ name, state, required }) =>
      row(state, state === 'absent' && !required ? `${name}; not required for deny` : name),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function backendLines({ backend, found, version, works, problem, withheld }: BackendReport): string[] {
  const state = works ? 'works' : found ? 'does not work' : 'not found';
  return [
    row(backend, version === null ? state : `${version}, ${state}`),
    ...[problem, withheld].filter((why) => why !== null).map((why) => row('', visible(why))),
  ];
}

function row(name: string, text: string): string {
  return `${name.padEnd(10)}  ${text}`;
}

import { parseArgs } from 'node:util';
import { isSkillRunError } from '../errors.ts';
import { type DoctorOptions, doctor } from '../link/doctor.ts';
import { renderDoctor } from '../link/render-doctor.ts';

const usage = `skill-run doctor [--json] [--backend bwrap|util-linux] [--node PATH]

Says what sandbox this machine can hold. The exit code is 0 only if skills can run.
`;

/** Where a command writes. */
export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

/**
 * Runs one command.
 *
 * @returns the exit code: 0 where it is well, 1 where it is not, 2 where the command is not one
 */
export async function runCli(args: readonly string[], { out, err }: Streams): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    if (values.help) {
      out(usage);
      return 0;
    }
    if (positionals.length !== 1 || positionals[0] !== 'doctor') {
      err(usage);
      return 2;
    }
    const { backend, node, json } = values;
    // A backend that there is not is refused by `doctor`.
    const options = { ...(backend !== undefined && { backend }), ...(node !== undefined && { node }) };
    const report = await doctor(options as DoctorOptions);
    out(json ? `${JSON.stringify(report, null, 2)}\n` : renderDoctor(report));
    return report.ok ? 0 : 1;
  } catch (error) {
    if (!isUsageFault(error)) throw error;
    err(`${error.message}\n\n${usage}`);
    return 2;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      json: { type: 'boolean' },
      backend: { type: 'string' },
      node: { type: 'string' },
    },
  });
}

function isUsageFault(error: unknown): error is Error {
  if (isSkillRunError(error, 'option_invalid')) return true;
  return String((error as { code?: unknown } | null)?.code).startsWith('ERR_PARSE_ARGS');
}

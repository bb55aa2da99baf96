import { describe, expect, it } from 'vitest';
import type { Exit } from '../../../src/link/sandbox/launch.ts';
import { type Cause, judge } from '../../../src/link/sandbox/verdict.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';

const answer = Buffer.from('1');
const idle = { cpuMs: 10, memPeakBytes: 8_000_000 };
const well: Exit = { code: 0, signal: null };
const verdict = (exit: Exit, seen: typeof idle = idle, cause?: Cause) =>
  judge(cause, exit, answer, seen, defaultLimits);

describe('judge', () => {
  it('takes the value of a tool that ended well', () => {
    expect(verdict(well)).toEqual({ kind: 'exited', value: 1 });
  });

  it.each([
    ['cancelled', { kind: 'cancelled' }],
    ['wall', { kind: 'limit', limit: 'wall' }],
    ['memory', { kind: 'limit', limit: 'memory' }],
    ['output', { kind: 'limit', limit: 'output' }],
    ['stderr', { kind: 'limit', limit: 'output' }],
  ] as const)('lets %s stand, however well the tool ended', (cause, end) => {
    expect(verdict(well, idle, cause)).toMatchObject(end);
  });

  it.each([
    ['by a signal', { code: null, signal: 'SIGKILL' }],
    ['as a shell says it', { code: 137, signal: null }],
    ['at the soft limit', { code: 152, signal: null }],
  ] as const)('says that processor time ran out, told %s', (_, exit) => {
    expect(verdict(exit, { ...idle, cpuMs: 10_900 })).toMatchObject({ kind: 'limit', limit: 'cpu' });
    expect(verdict(exit)).toMatchObject({ kind: 'failed', exitCode: exit.code });
  });

  it.each(['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 'SIGKILL'] as const)(
    'takes %s for a want of memory only where much was used',
    (signal) => {
      const exit: Exit = { code: null, signal };
      const much = { ...idle, memPeakBytes: 100_000_000 };
      expect(verdict(exit, much)).toMatchObject({ kind: 'limit', limit: 'memory' });
      expect(verdict(exit)).toMatchObject({ kind: 'failed', exitCode: null });
    },
  );

  it('takes no value from a tool that ended badly', () => {
    expect(verdict({ code: 3, signal: null })).toMatchObject({ kind: 'failed', exitCode: 3 });
  });
});

import { describe, expect, it } from 'vitest';
import { heapFlags, permissionFlags, processLimits, v8Flags } from '../../../src/link/sandbox/limits.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';

const node = (major: number, minor: number) => ({
  path: '',
  stamp: '',
  major,
  minor,
  dataBytes: 1000,
  libraries: [],
});

describe('permissionFlags', () => {
  it.each([
    [20, 19, '--experimental-permission', false, false],
    [22, 12, '--experimental-permission', true, false],
    [22, 13, '--permission', true, false],
    [22, 14, '--permission', true, true],
    [23, 4, '--experimental-permission', true, false],
    [23, 7, '--permission', true, true],
    [24, 0, '--permission', true, true],
    [26, 0, '--permission', true, true],
  ])('of Node %i.%i begin with %s', (major, minor, first, sqlite, signal) => {
    const flags = permissionFlags(node(major, minor));
    expect(flags[0]).toBe(first);
    expect(flags.includes('--no-experimental-sqlite')).toBe(sqlite);
    expect(flags.includes('--disable-sigusr1')).toBe(signal);
  });
});

it('asks only an old V8 for the patience with WebAssembly that newer ones have', () => {
  const patient = (major: number) =>
    v8Flags(node(major, 20), defaultLimits).some((flag) => flag.includes('wasm'));
  expect([20, 22, 26].map(patient)).toEqual([true, false, false]);
});

it('adds what the binary needs itself to the limit on data', () => {
  const limits = { ...defaultLimits, mem_bytes: 5 };
  expect(processLimits(node(20, 19), limits)[0]).toBe(`--data=${1000 + 5 + 24 * 1_048_576}`);
});

it('keeps the heap inside the memory of the run', () => {
  expect(heapFlags(defaultLimits)).toContain('--max-old-space-size=96');
  expect(heapFlags({ ...defaultLimits, mem_bytes: 1 })).toContain('--max-old-space-size=24');
});

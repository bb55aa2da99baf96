import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRefusal, makeJobFolder } from '../../../src/link/sandbox/job-folder.ts';
import { makeDirectory, toolRun } from './help.ts';

const file = (path: string, size = 1) => ({ path, bytes: new Uint8Array(size).fill(0x20) });
const main = file('main.js');

describe('findRefusal', () => {
  it.each([
    '../main.js',
    'lib/../../x.js',
    '/etc/cron.d/x.js',
    './x.js',
    'lib//x.js',
    'lib/',
    '',
    'x\0.js',
    'x\n.js',
    'x .js',
    'lib\\x.js',
    'Main.js',
    'ﬁle.js',
    'mаin.js',
    'a.b.js',
    '.js',
    '-x.js',
    'node_modules/.bin/x.js',
    `${'a'.repeat(61)}.js`,
    'a/b/c/d/e.js',
    'x.js/',
  ])('refuses a file named %j', (path) => {
    expect(findRefusal(toolRun('', { files: [main, file(path)] }), ['deny'])).toMatch(/path/);
    expect(findRefusal(toolRun('', { files: [file(path)], entry: path }), ['deny'])).toBeDefined();
  });

  it('passes no name that leaves the folder or has a twin', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (name) => {
        const path = `${name}.js`;
        if (findRefusal(toolRun('', { files: [file(path)], entry: path }), ['deny']) !== undefined) return;
        expect(join('/in', path)).toBe(`/in/${path}`);
        expect(path.normalize('NFKC').toLowerCase()).toBe(path);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['two files of one path', { files: [main, main] }, /one path/],
    ['an entry that is not there', { files: [main], entry: 'other.js' }, /entry/],
    ['an entry that is no code', { files: [main, file('data.json')], entry: 'data.json' }, /entry/],
    ['a file too long', { files: [main, file('x.js', 65_537)] }, /65536/],
    [
      'machine code',
      { files: [main, { path: 'x.js', bytes: Buffer.from('\x7fELF\x02\x01\x01\0') }] },
      /text/,
    ],
    ['bytes that are no UTF-8', { files: [main, { path: 'x.js', bytes: Buffer.from([0xff]) }] }, /text/],
    ['too many files', { files: Array.from({ length: 33 }, (_, n) => file(`f${n}.js`)) }, /32/],
    ['an input too long', { input: { text: 'a'.repeat(65_536) } }, /input/],
    ['the internet', { net: 'public' as const }, /net/],
    ['OpenVibe sites', { net: 'openvibe-only' as const }, /net/],
    ['no wall time', { limits: { wall_ms: 0, mem_bytes: 1 } }, /limits/],
    ['more wall time than the cap', { limits: { wall_ms: 30_001, mem_bytes: 1 } }, /limits/],
    ['more memory than the cap', { limits: { wall_ms: 1, mem_bytes: 268_435_457 } }, /limits/],
    ['limits that are no numbers', { limits: { wall_ms: Number.NaN, mem_bytes: 1.5 } }, /limits/],
  ])('refuses %s', (_, more, message) => {
    expect(findRefusal(toolRun('', more), ['deny'])).toMatch(message);
  });
});

describe('makeJobFolder', () => {
  it('lays out code alone, read-only, in its own tree', async () => {
    await using directory = await makeDirectory();
    const files = [main, file('lib/deep/text.js'), file('lib/a.js'), file('notes.txt'), file('lib/x.json')];
    const job = await makeJobFolder(directory.path, toolRun('', { files }));
    expect(readdirSync(job.inputs, { recursive: true }).map(String).sort()).toEqual([
      'lib',
      'lib/a.js',
      'lib/deep',
      'lib/deep/text.js',
      'main.js',
    ]);
    expect(statSync(join(job.inputs, 'main.js')).mode & 0o777).toBe(0o444);
    expect(statSync(job.inputs).mode & 0o777).toBe(0o755);
    await job.remove();
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('leaves nothing when a file cannot be written', async () => {
    await using directory = await makeDirectory();
    await expect(makeJobFolder(directory.path, toolRun('', { files: [main, main] }))).rejects.toThrow();
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

'use strict';
// Runs before a tool. The operating system holds the line; this closes what Node's own permission model
// leaves open, so that a tool meets a clear error instead of an odd one.
const { writeSync } = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

// A host that died while this sandbox was being built is noticed here: writing nothing to it fails, and so
// the tool does not start. From now on the kernel would end us with it.
writeSync(1, '');

const closed = (name) =>
  function refuse() {
    throw Object.assign(new Error(`${name} is closed in the sandbox.`), { code: 'ERR_ACCESS_DENIED' });
  };
const close = (holder, title, keys) => {
  for (const key of keys) {
    if (typeof holder[key] !== 'function') continue;
    Object.defineProperty(holder, key, { value: closed(`${title}.${key}`), enumerable: true });
  }
};

const vm = require('node:vm');
close(vm, 'vm', Object.keys(vm));
close(require('node:v8'), 'v8', ['setFlagsFromString']);
close(require('node:trace_events'), 'trace_events', ['createTracing']);
close(process, 'process', [
  'binding',
  '_linkedBinding',
  'dlopen',
  'kill',
  '_kill',
  '_debugProcess',
  '_debugEnd',
]);
Object.defineProperty(process, 'report', { value: undefined });
for (const name of Object.keys(process.env)) delete process.env[name];
globalThis.fetch = async function fetch() {
  throw Object.assign(new TypeError('This tool has no network: its net is "deny".'), {
    code: 'ERR_ACCESS_DENIED',
  });
};
syncBuiltinESMExports();

// A tool that came to its end by itself has said all that it will say. Node would then take its heap apart object by
// object, for which a person would wait; the kernel takes it whole. One that still listens to its end keeps Node's.
const { exit } = process;
process.once('beforeExit', () => {
  process.on('exit', function end(code) {
    if (code === 0 && process.listeners('exit').at(-1) === end) exit();
  });
});

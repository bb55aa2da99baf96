'use strict';
// Runs after the preload, in a sandbox that was started ahead: says that Node is up, and waits. The host then
// lays a tool's code into /in and writes one line, its entry; what follows on stdin is the tool's alone.
const { readSync, writeSync } = require('node:fs');
const Module = require('node:module');

// What nearly every tool loads, through `process.stdin` and `process.stdout`, and a socket that is never opened, so
// that making one is compiled. They themselves are not made yet: they open a descriptor, and turn blocking writes
// into others.
const { Socket } = require('node:net');
new Socket();
// `fetch` and what TLS trusts are most of what a tool with a network waits for.
if (process.execArgv.includes('--require=/rt/network.cjs')) {
  void globalThis.Response;
  require('node:tls').createSecureContext();
}

writeSync(1, '\n');

// A byte at a time, so that nothing of the input is taken.
const byte = Buffer.alloc(1);
let entry = '';
for (;;) {
  // A host that is gone, or wants no more of this sandbox, closes the pipe.
  if (readSync(0, byte) === 0) process.exit(1);
  if (byte[0] === 10) break;
  entry += String.fromCharCode(byte[0]);
}

// From here on as if the command line had named the entry. Node asks for `runMain` once, right after this; what
// it gets is bound, so that no frame of it stands in a tool's stack, and it is gone when the tool runs.
process.argv[1] = `/in/${entry}`;
const { runMain } = Module;
Object.defineProperty(Module, 'runMain', {
  configurable: true,
  get() {
    Object.defineProperty(Module, 'runMain', {
      value: runMain,
      configurable: true,
      enumerable: true,
      writable: true,
    });
    return runMain.bind(Module, process.argv[1]);
  },
});

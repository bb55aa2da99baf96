'use strict';
// Runs before a tool that has a network, in place of the preload alone. It leads `fetch`, `http` and `https` to the
// one socket that leads out. It is convenience, not policy: the host's proxy decides.
const fetchDirectly = globalThis.fetch;
require('./preload.cjs');
const http = require('node:http');
const https = require('node:https');
const { connect } = require('node:net');
const tls = require('node:tls');

function tunnel(host, port, done) {
  const request = http.request({
    method: 'CONNECT',
    path: `${host}:${port}`,
    createConnection: () => connect('/egress'),
  });
  request.once('connect', ({ statusCode }, socket) => {
    if (statusCode === 200) return done(null, socket);
    socket.destroy();
    const [what, code] =
      statusCode === 502
        ? ['did not answer', 'ECONNREFUSED']
        : ['is closed to this tool', 'ERR_ACCESS_DENIED'];
    done(Object.assign(new Error(`${host}:${port} ${what}.`), { code }));
  });
  request.once('error', done);
  request.end();
}

function secure(socket, options) {
  return tls.connect({ ...options, socket, path: undefined, servername: options.servername || options.host });
}

// Node lets a connection be made without a callback, and answers it at once. Here it is there only when the proxy
// says so; without a callback one would be left open that nobody holds, and keep the tool from its end.
const called = (connects) =>
  function createConnection(options, done) {
    if (typeof done !== 'function') {
      const message = 'createConnection has to be called with a callback in the sandbox.';
      throw Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' });
    }
    connects(options, done);
  };
http.Agent.prototype.createConnection = called(({ host, port }, done) => tunnel(host, port, done));
https.Agent.prototype.createConnection = called((options, done) => {
  tunnel(options.host, options.port, (error, socket) => {
    if (error) done(error);
    else done(null, secure(socket, options));
  });
});

function connectUndici({ hostname, protocol, port, servername }, done) {
  const isSecure = protocol === 'https:';
  tunnel(hostname, port || (isSecure ? 443 : 80), (error, socket) => {
    if (error) return done(error);
    if (!isSecure) return done(null, socket);
    const secured = secure(socket, { host: hostname, servername, ALPNProtocols: ['http/1.1'] });
    secured.once('error', done).once('secureConnect', () => {
      secured.off('error', done);
      done(null, secured);
    });
  });
}

// Node gives its undici no name, but leaves the agent of `fetch` where another undici would look for it. Loading
// it takes longer than all the rest of the start, so it waits for the first need.
let useTunnel = () => {
  useTunnel = () => undefined;
  void globalThis.Response;
  const places = ['undici.globalDispatcher.2', 'undici.globalDispatcher.1'].map((name) => Symbol.for(name));
  const place = places.find((symbol) => globalThis[symbol] !== undefined);
  globalThis[place] = new globalThis[place].constructor({ connect: connectUndici });
};
globalThis.fetch = async function fetch(input, init) {
  useTunnel();
  return fetchDirectly(input, init);
};

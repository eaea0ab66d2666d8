// SPDX-License-Identifier: Apache-2.0
// Node as a client of the gateway: does what its first argument names, with the settings in the second, and prints what came
// of it as JSON.

import { createHash, randomBytes, randomInt } from 'node:crypto';
import http from 'node:http';
import http2 from 'node:http2';

const [, , task, text] = process.argv;
const setting = JSON.parse(text);
const sum = (bytes) => createHash('sha256').update(bytes).digest('hex');
const gathered = async (stream) => {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
};

function request(agent, path, method = 'GET', body = undefined) {
  return new Promise((resolve, reject) => {
    const headers = { host: setting.host, ...(setting.cookie ? { cookie: setting.cookie } : {}) };
    const call = http.request({ agent, port: setting.port, host: '127.0.0.1', path, method, headers }, async (response) => {
      try {
        resolve({ response, port: call.socket.localPort, body: await gathered(response) });
      } catch (error) {
        reject(error);
      }
    });
    call.on('error', reject).end(body);
  });
}

const tasks = {
  /** Many bodies over kept connections, eight at a time. */
  async http1() {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
    const ports = new Set();
    const responses = await Promise.all(Array.from({ length: 200 }, async () => {
      const body = randomBytes(randomInt(0, 100_000));
      const { response, port, body: back } = await request(agent, `${setting.path}echo`, 'POST', body);
      ports.add(port);
      return response.statusCode === 200 && sum(back) === sum(body) ? response.headers['x-seen-user'] : response.statusCode;
    }));
    agent.destroy();
    return { responses, connections: ports.size };
  },

  /** An event is there before the next is sent. */
  async events() {
    const agent = new http.Agent({ keepAlive: true });
    const path = `${setting.path}events`;
    const stream = await new Promise((resolve, reject) =>
      http.get({ port: setting.port, host: '127.0.0.1', path, headers: { host: setting.host } }, resolve).on('error', reject));
    const seen = [];
    for await (const part of stream) {
      seen.push(part.toString());
      if (seen.length === 1) await request(agent, `${setting.path}go`);
    }
    agent.destroy();
    return { type: stream.headers['content-type'], seen };
  },

  /** Many streams of one connection at once, with bodies larger than its windows. */
  async http2() {
    const session = http2.connect(`https://127.0.0.1:${setting.port}`, { rejectUnauthorized: false, servername: setting.host });
    const one = async () => {
      const body = randomBytes(randomInt(0, 200_000));
      const fields = { ':method': 'POST', ':path': `${setting.path}echo`, ':authority': setting.host, te: 'trailers' };
      const stream = session.request({ ...fields, ...(setting.cookie ? { cookie: setting.cookie } : {}) });
      let head, trailers;
      stream.on('response', (fields) => { head = fields; }).on('trailers', (fields) => { trailers = fields; });
      stream.end(body);
      const back = await gathered(stream);
      const isRight = head[':status'] === 200 && sum(back) === sum(body);
      return [isRight ? head['x-seen-user'] : head[':status'], trailers?.['x-sum'] === sum(body)];
    };
    const responses = [];
    for (let round = 0; round < 3; round += 1) responses.push(...await Promise.all(Array.from({ length: 50 }, one)));
    session.close();
    return { responses };
  },

  /** A WebSocket inside HTTP/2, RFC 8441. */
  async websocket() {
    const session = http2.connect(`https://127.0.0.1:${setting.port}`, { rejectUnauthorized: false, servername: setting.host });
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    const isOffered = session.remoteSettings.enableConnectProtocol;
    const stream = session.request({
      ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https', ':path': `${setting.path}messages`,
      ':authority': setting.host, 'sec-websocket-version': '13', origin: setting.origin,
    }, { endStream: false });
    const head = await new Promise((resolve, reject) => stream.on('response', resolve).on('error', reject));
    const key = randomBytes(4);
    const message = Buffer.from('from Node');
    stream.write(Buffer.concat([Buffer.from([0x82, 0x80 | message.length]), key, message.map((byte, index) => byte ^ key[index % 4])]));
    let back = Buffer.alloc(0);
    for await (const part of stream) {
      back = Buffer.concat([back, part]);
      if (back.length >= 2 + message.length) break;
    }
    stream.close();
    session.close();
    return { isOffered, status: head[':status'], message: back.subarray(2).toString() };
  },

  /** An interim response, reported before the page. */
  async hints() {
    const hints = [];
    const body = await new Promise((resolve, reject) => {
      const path = `${setting.path}hints`;
      http.get({ port: setting.port, host: '127.0.0.1', path, headers: { host: setting.host }, agent: false },
        async (response) => resolve((await gathered(response)).toString()))
        .on('information', ({ statusCode, headers }) => hints.push([statusCode, headers.link])).on('error', reject);
    });
    return { hints, body };
  },
};

console.log(JSON.stringify(await tasks[task]()));

// SPDX-License-Identifier: Apache-2.0
// An app on Node: HTTP/1.1 with WebSockets, and HTTP/2 without TLS. Prints its two ports as JSON and runs until it is stopped.

import { createHash } from 'node:crypto';
import http from 'node:http';
import http2 from 'node:http2';

const held = [];

function respond(request, response) {
  const path = new URL(request.url, 'http://app').pathname;
  response.setHeader('x-seen-user', request.headers['x-forwarded-user'] ?? '-');
  if (path.endsWith('/echo')) {
    const sum = createHash('sha256');
    request.on('data', (part) => sum.update(part));
    request.on('end', () => response.stream && response.addTrailers({ 'x-sum': sum.digest('hex') }));
    request.pipe(response);
  } else if (path.endsWith('/events')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\n\n');
    held.push(response);
  } else if (path.endsWith('/go')) {
    for (const stream of held.splice(0)) stream.end('data: second\n\n');
    response.end();
  } else if (path.endsWith('/hints')) {
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
    response.end('page');
  } else {
    response.statusCode = 404;
    response.end();
  }
}

/** Sends every frame of a client back, unmasked: frames of less than 126 bytes, which is all that is sent here. */
function upgrade(request, socket, head) {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  let waiting = head;
  const read = (part) => {
    waiting = Buffer.concat([waiting, part]);
    while (waiting.length >= 2) {
      const length = waiting[1] & 0x7f;
      if (waiting.length < 6 + length) return;
      const key = waiting.subarray(2, 6);
      const payload = waiting.subarray(6, 6 + length).map((byte, index) => byte ^ key[index % 4]);
      socket.write(Buffer.concat([Buffer.from([waiting[0], length]), payload]));
      waiting = waiting.subarray(6 + length);
    }
  };
  socket.on('data', read).on('error', () => socket.destroy()).on('end', () => socket.end());
  read(Buffer.alloc(0));
}

const plain = http.createServer(respond).on('upgrade', upgrade);
const multiplexed = http2.createServer(respond);
plain.listen(0, '127.0.0.1', () =>
  multiplexed.listen(0, '127.0.0.1', () =>
    console.log(JSON.stringify({ http: plain.address().port, h2c: multiplexed.address().port })),
  ),
);

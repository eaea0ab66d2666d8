// SPDX-License-Identifier: Apache-2.0
// An app on Node that reads the user from headers and from the assertion, which it verifies with Node's own crypto and
// the keys at the URL of the first argument. Prints its port and runs until it is stopped.

import { createPublicKey, verify } from 'node:crypto';
import http from 'node:http';

const [keysURL, host] = process.argv.slice(2);

/** The keys of the gateway; asked by the host that it expects. */
function keys() {
  return new Promise((resolve, reject) => {
    http.get(keysURL, { headers: { host } }, (response) => {
      let text = '';
      response.on('data', (part) => { text += part; });
      response.on('end', () => resolve(JSON.parse(text).keys));
    }).on('error', reject);
  });
}

/** The claims of a signed token; throws unless the signature is that of a published key. */
async function verified(token) {
  const [header, payload, signature] = token.split('.');
  const { kid, alg } = JSON.parse(Buffer.from(header, 'base64url'));
  const key = (await keys()).find((one) => one.kid === kid);
  const publicKey = createPublicKey({ key, format: 'jwk' });
  const isValid = alg === 'ES256' && verify(
    'sha256', Buffer.from(`${header}.${payload}`), { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isValid) throw new Error('the signature is not valid');
  return JSON.parse(Buffer.from(payload, 'base64url'));
}

const server = http.createServer(async (request, response) => {
  try {
    const claims = await verified(request.headers['x-gatehouse-assertion'] ?? '');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ headers: request.headers, claims }));
  } catch (error) {
    response.statusCode = 401;
    response.end(String(error));
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));

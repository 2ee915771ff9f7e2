import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { RunningShop } from '../e2e/support/running-shop.js';
import { ID, JSON_TYPE, problemIn } from '../e2e/support/answered.js';

let shop: RunningShop;

beforeAll(async () => {
  shop = await RunningShop.open();
});

afterAll(async () => {
  await shop.mustHold();
  await shop.close();
});

const GOOD = '{"items":[{"sku":"CUP-WHITE","quantity":1}]}';
const key = (value: string | string[]) => ({ ...JSON_TYPE, 'idempotency-key': value });
const gzip = { ...JSON_TYPE, 'content-encoding': 'gzip' };
const SOON = new Date(Date.now() + 3_600_000).toISOString();
/** A campaign of a message of so many characters. */
const campaign = (message: number, at = SOON, recipients = ['a']): string =>
  JSON.stringify({ at, message: 'x'.repeat(message), recipients });
const items = (given: string): string => `{"items":[{"sku":"CUP-WHITE","quantity":1,${given}}]}`;

/** What the shop itself allows and refuses; what Express and zod refuse by themselves is theirs to test. */
it.each<[string, string, string | Buffer, object, number, RegExp]>([
  ['an order of 65 KB', '/orders', `{"items":"${'x'.repeat(66_000)}"}`, JSON_TYPE, 413, /./],
  ['an order of 50 MB in gzip', '/orders', gzipSync(Buffer.alloc(5e7, ' ')), gzip, 413, /./],
  ['a campaign of 65 KB', '/campaigns', campaign(66_000), JSON_TYPE, 400, /^message: /],
  ['a campaign of 1.1 MB', '/campaigns', campaign(1_100_000), JSON_TYPE, 413, /./],
  ['lists 30,000 deep', '/orders', '['.repeat(3e4) + ']'.repeat(3e4), JSON_TYPE, 400, /object/],
  ['no JSON', '/orders', '{"items":', JSON_TYPE, 400, /./],
  ['no UTF-8', '/orders', Buffer.from(items('"sku":"\xff"'), 'latin1'), JSON_TYPE, 400, /\.sku: /],
  ['NUL in a SKU', '/orders', items('"sku":"A\\u0000"'), JSON_TYPE, 400, /^items\.0\.sku: /],
  ['the SKU __proto__', '/orders', items('"sku":"__proto__"'), JSON_TYPE, 400, /"__proto__"/],
  ['a quantity of 1e309', '/orders', items('"quantity":1e309'), JSON_TYPE, 400, /\.quantity: /],
  [
    '5,000 wrong lines',
    '/orders',
    `{"items":[${'0,'.repeat(4_999)}0]}`,
    JSON_TYPE,
    400,
    /^items: /,
  ],
  ['a key of 256 characters', '/orders', GOOD, key('k'.repeat(256)), 400, /^Idempotency-Key: /],
  ['a key with a blank', '/orders', GOOD, key('a b'), 400, /^Idempotency-Key: /],
  ['two keys', '/orders', GOOD, key(['one', 'two']), 400, /^Idempotency-Key: /],
])('%s is answered with what is wrong with it', async (_, path, body, headers, status, says) => {
  const answer = await shop.sendAsItIs('POST', path, body, { ...headers });
  const { detail, errors } = problemIn(answer, status);
  const lines = errors?.map(({ field, message }) => `${field}: ${message}`) ?? [detail];
  expect(lines.join('\n')).toMatch(says);
});

const TOO_MANY = campaign(
  1,
  undefined,
  Array.from({ length: 10_001 }, (_, n) => `p${n}`),
);

/** What a column, a timer or a message could not hold. */
it.each([
  ['PATCH', '/merchants/kiln', 'payWithin', '{"payWithin":"3651d"}'],
  ['PATCH', '/merchants/kiln', 'remindBefore', '{"remindBefore":"30m; DROP TABLE merchant"}'],
  ['PUT', '/sample-provider', 'for', '{"refunds":"fail","for":"0ms"}'],
  ['POST', '/payments/callback', 'amount', '{"amount":2147483648}'],
  ['POST', '/payments/callback', 'transaction', `{"transaction":"${'t'.repeat(256)}"}`],
  ['POST', '/campaigns', 'at', campaign(1, '9999-12-31T23:59:59Z')],
  ['POST', '/campaigns', 'at', campaign(1, '0000-01-01T00:00:00Z')],
  ['POST', '/campaigns', 'recipients', '{"recipients":["a b"]}'],
  ['POST', '/campaigns', 'recipients', TOO_MANY],
  ['POST', '/campaigns', 'message', '{"message":"a\\u0007b"}'],
  ['POST', '/payments/callback', 'provider', '{"provider":"a\\r\\nb"}'],
  ['POST', '/orders', 'items.0.sku', items('"sku":"CUP-WHITE\\n"')],
  ['POST', `/orders/${ID}/review`, 'stars', '{"stars":6}'],
  ['POST', `/orders/${ID}/dispute`, 'reason', '{"reason":"a\\nb"}'],
])('%s %s: %s is out of range', async (method, path, field, body) => {
  const answer = await shop.sendAsItIs(method, path, body, JSON_TYPE);
  const { errors } = problemIn(answer, 400);
  expect(errors).toContainEqual(
    expect.objectContaining({ field: expect.stringMatching(new RegExp(`^${field}\\b`)) }),
  );
});

const HOST = 'Host: shop\r\n';
const POST = `POST /orders HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;

/** A client of its own; `answer` is all that it was sent until the socket closed. */
async function socketToShop(): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(shop.url).port) });
  socket.on('error', () => {});
  await once(socket, 'connect');
  let all = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    all += piece;
  });
  return { socket, answer: once(socket, 'close').then(() => all) };
}

function isProblem(answer: string, status: number): void {
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer).toMatch(/^content-type: application\/problem\+json\r$/im);
  expect(answer).toContain('"type":"about:blank"');
}

it.each([
  ['the hello of TLS', '\x16\x03\x01\0\xf2\x01\0\0\xee\x03\x03', 400],
  ['a header of 20 kB', `${POST}Idempotency-Key: ${'k'.repeat(20_000)}\r\n\r\n`, 431],
  ['a length and chunks', `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
  ['a wrong chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`, 400],
  ['an expectation', `${POST}Connection: close\r\nExpect: miracles\r\n\r\n`, 417],
])('a socket that brings %s is told so', async (_, bytes, status) => {
  const { socket, answer } = await socketToShop();
  socket.end(bytes, 'latin1');
  isProblem(await answer, status);
  expect((await shop.get('/skus')).status).toBe(200);
});

it.each([
  ['half of the headers', `${POST}Content-Le`],
  ['half of a body', `${POST}Content-Length: ${GOOD.length}\r\n\r\n${GOOD.slice(0, 20)}`],
  ['a whole order', `${POST}Content-Length: ${GOOD.length}\r\n\r\n${GOOD}`],
  ['fifty requests at once', `GET /skus HTTP/1.1\r\n${HOST}\r\n`.repeat(50)],
])('a socket that brings %s and goes away harms nobody', async (_, bytes) => {
  const { socket, answer } = await socketToShop();
  socket.write(bytes, () => socket.destroy());
  await answer;
  expect((await shop.get('/skus')).status).toBe(200);
});

it('a client that is too slow is answered 408, and may not keep its socket', async () => {
  const server = shop.app.getHttpServer();
  const accepted = once(server, 'connection');
  const { answer } = await socketToShop();
  // What Node says when its timer for headers has run out.
  const late = Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  server.emit('clientError', late, (await accepted)[0]);
  const said = await answer;
  expect(said).toContain('cannot be read, or not in time');
  isProblem(said, 408);
});

it('what looks like SQL is a text like any other', async () => {
  const { id, total } = await shop.place(await shop.newSku());
  const fragment = `tx'); DROP TABLE payment; --`;
  expect(await shop.callback(id, total, fragment)).toMatchObject({ status: 200 });
  expect((await shop.order(id)).payments).toMatchObject([{ transaction: fragment }]);
});

it('keys that look like prototypes change nothing and pollute nothing', async () => {
  const sku = await shop.newSku({ price: 700 });
  const line = `{"sku":"${sku}","quantity":1,"__proto__":{"price":0},"constructor":{"prototype":{}}}`;
  const placed = await shop.send('POST', '/orders', `{"items":[${line}],"__proto__":{"total":0}}`);
  expect(placed).toMatchObject({ status: 201, body: { total: 700 } });
  expect(({} as { admin?: unknown }).admin).toBeUndefined();
});

it('a failure of the server says so, and nothing about its insides', async () => {
  shop.app.useLogger(false);
  await shop.sql('ALTER TABLE sku RENAME TO sku_hidden');
  const answer = await shop.sendAsItIs('GET', '/skus');
  await shop.sql('ALTER TABLE sku_hidden RENAME TO sku');
  expect(problemIn(answer, 500).detail).toMatch(/^something is wrong here, not with the request/);
});

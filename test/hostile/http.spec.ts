import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { RunningShop } from '../e2e/support/running-shop.js';
import { ID, JSON_TYPE, problemIn } from '../e2e/support/answered.js';

// oxlint-disable jest/expect-expect -- `isProblem` expects

const shop = RunningShop.forAll();

const GOOD = '{"items":[{"sku":"CUP-WHITE","quantity":1}]}';
const key = (value: string | string[]) => ({ ...JSON_TYPE, 'idempotency-key': value });
const SOON = new Date(Date.now() + 3_600_000).toISOString();
/** A campaign of a message of so many characters. */
const campaign = (message: number, at = SOON, recipients = ['a']): string =>
  JSON.stringify({ at, message: 'x'.repeat(message), recipients });
const BACKLOG = campaign(
  1,
  SOON,
  Array.from({ length: 10_001 }, (_, n) => `p${n}`),
);
const NOBODYS = campaign(1).replace('{', String.raw`{"merchant":"a\u0000",`);
const BELL = campaign(1).replace('"x"', String.raw`"a\u0007b"`);

/** What the shop itself allows and refuses; what Express and zod refuse by themselves is theirs to test. */
it.each<[string, string, string, number, RegExp, object?]>([
  ['an order of 65 KB', 'POST /orders', `{"items":"${'x'.repeat(66_000)}"}`, 413, /./],
  ['a campaign of 65 KB', 'POST /campaigns', campaign(66_000), 400, /^message: /],
  ['a campaign of 1.1 MB', 'POST /campaigns', campaign(1_100_000), 413, /./],
  ['a key of 256 characters', 'POST /orders', GOOD, 400, /^Idempotency-K/, key('k'.repeat(256))],
  ['a key with a blank', 'POST /orders', GOOD, 400, /^Idempotency-Key: /, key('a b')],
  ['two keys', 'POST /orders', GOOD, 400, /^Idempotency-Key: /, key(['one', 'two'])],
  ['NUL in a SKU', 'POST /orders', '{"items":[{"sku":"A\\u0000"}]}', 400, /^items\.0\.sku: /m],
  ['eleven years', 'PATCH /merchants/kiln', '{"payWithin":"3651d"}', 400, /^payWithin: /],
  ['no time at all', 'PUT /sample-provider', '{"refunds":"fail","for":"0ms"}', 400, /^for: /],
  ['an amount of 2^31', 'POST /payments/callback', '{"amount":2147483648}', 400, /^amount: /m],
  ['a year 9999', 'POST /campaigns', campaign(1, '9999-12-31T23:59:59Z'), 400, /^at: /],
  ['10,001 recipients', 'POST /campaigns', BACKLOG, 400, /^recipients: /m],
  ['a bell in a message', 'POST /campaigns', BELL, 400, /^message: /m],
  ['NUL in a merchant', 'POST /campaigns', NOBODYS, 400, /^merchant: /m],
  ['six stars', `POST /orders/${ID}/review`, '{"stars":6}', 400, /^stars: /m],
  ['a line break', `POST /orders/${ID}/dispute`, '{"reason":"a\\nb"}', 400, /^reason: /m],
])('%s: %s says what is wrong', async (_, route, body, status, says, headers = JSON_TYPE) => {
  const [method, path] = route.split(' ') as [string, string];
  const answer = await shop.sendAsItIs(method, path, body, { ...headers });
  const { detail, errors } = problemIn(answer, status);
  const lines = errors?.map(({ field, message }) => `${field}: ${message}`) ?? [detail];
  expect(lines.join('\n')).toMatch(says);
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
  ['an expectation', `${POST}Connection: close\r\nExpect: miracles\r\n\r\n`, 417],
])('a socket that brings %s is told so', async (_, bytes, status) => {
  const { socket, answer } = await socketToShop();
  socket.end(bytes, 'latin1');
  isProblem(await answer, status);
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

it('clients that go away in the middle harm nobody', async () => {
  for (const bytes of [`${POST}Content-Length: 40\r\n\r\n${GOOD.slice(0, 20)}`, `${POST}Conte`]) {
    const { socket, answer } = await socketToShop();
    socket.write(bytes, () => socket.destroy());
    await answer;
  }
  expect((await shop.get('/skus')).status).toBe(200);
});

it('what looks like SQL, or like a prototype, is a text like any other', async () => {
  const sku = await shop.newSku({ price: 700 });
  const line = `{"sku":"${sku}","quantity":1,"__proto__":{"price":0},"constructor":{"prototype":{}}}`;
  const placed = await shop.send('POST', '/orders', `{"items":[${line}],"__proto__":{"total":0}}`);
  expect(placed).toMatchObject({ status: 201, body: { total: 700 } });
  const fragment = `tx'); DROP TABLE payment; --`;
  const { id } = placed.body;
  expect(await shop.callback(id, 700, fragment)).toMatchObject({ status: 200 });
  expect((await shop.order(id)).payments).toMatchObject([{ transaction: fragment }]);
});

it('a failure of the server says so, and nothing about its insides', async () => {
  shop.app.useLogger(false);
  await shop.sql('ALTER TABLE sku RENAME TO sku_hidden');
  const answer = await shop.sendAsItIs('GET', '/skus');
  await shop.sql('ALTER TABLE sku_hidden RENAME TO sku');
  expect(problemIn(answer, 500).detail).toMatch(/^something is wrong here, not with the request/);
});

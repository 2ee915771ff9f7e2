import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { RunningShop } from '../e2e/support/running-shop.js';
import { problem } from '../../src/shop/http/problem.js';
import { INSIDES, RAW_WORDING } from './http/answered.js';
import type { HostileRequest } from './http/request.js';
import { REQUESTS } from './http/requests.js';
import { SOCKETS, type HostileSocket } from './http/sockets.js';
import { everyCase } from './support/every-case.js';

let shop: RunningShop;
let url: URL;

beforeAll(async () => {
  shop = await RunningShop.open();
  url = new URL(await shop.app.getUrl());
  await shop.sql(
    `INSERT INTO sku (sku, name, price, stock, initial_stock) VALUES ('SCARCE', 'a test', 1, 1, 1)`,
  );
});

afterAll(async () => {
  await shop.mustHold();
  await shop.close();
});

interface Received {
  response: IncomingMessage;
  body: string;
}

async function send({ method, path, headers, body }: HostileRequest): Promise<Received> {
  // No agent: a connection of its own, so that what is left unread meets nobody else.
  const sent = request({ host: url.hostname, port: url.port, method, path, headers, agent: false });
  sent.on('error', () => {});
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { response, body: await text(response) };
}

async function isAnswered(hostile: HostileRequest): Promise<void> {
  const { response, body } = await send(hostile);
  expect({ status: response.statusCode, body }).toMatchObject({ status: hostile.status });
  expect(response.headers['content-type']).toBe('application/problem+json');
  expect(response.headers['set-cookie']).toBeUndefined();
  const said = problem.parse(JSON.parse(body));
  expect(said.status).toBe(hostile.status);
  const lines = said.errors?.map(({ field, message }) => `${field}: ${message}`) ?? [said.detail];
  expect(lines.join('\n')).toMatch(hostile.says ?? /./m);
  expect(body).not.toMatch(RAW_WORDING);
  expect(body).not.toMatch(INSIDES);
}

describe('a request is answered with what is wrong with it:', () => {
  everyCase(REQUESTS, isAnswered);
});

async function isOutlived({ what, bytes, answers }: HostileSocket): Promise<void> {
  const socket = connect({ host: url.hostname, port: Number(url.port) });
  socket.on('error', () => {});
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    answer += piece;
  });
  const closed = once(socket, 'close');
  if (answers) socket.end(bytes);
  else socket.write(bytes, () => socket.destroy());
  await closed;
  const [firstLine] = answer.split('\r\n');
  expect(firstLine).toMatch(answers ?? /^/);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  // Node answers a request without a host by itself, and with no body.
  if (answers && firstLine !== '' && what !== 'no host') {
    expect(head).toMatch(/^content-type: application\/problem\+json$/im);
    expect(body).toContain('"type":"about:blank"');
  }
  // The next one is served as ever.
  expect((await shop.get('/skus')).status).toBe(200);
}

describe('a socket that brings', () => {
  everyCase(SOCKETS, isOutlived);
});

it('what looks like SQL is a text like any other', async () => {
  const { id, total } = await shop.place(await shop.newSku());
  const fragment = `tx'); DROP TABLE payment; --`;
  expect(await shop.callback(id, total, fragment)).toMatchObject({ status: 200 });
  expect((await shop.order(id)).payments).toMatchObject([{ transaction: fragment }]);
  const sku = await shop.newSku();
  const key = `'||pg_sleep(60)||'`;
  const placed = await shop.post(
    '/orders',
    { items: [{ sku, quantity: 1 }] },
    { 'Idempotency-Key': key },
  );
  expect(placed.status).toBe(201);
});

it('keys that look like prototypes change nothing and pollute nothing', async () => {
  const sku = await shop.newSku({ price: 700 });
  const line = `{"sku":"${sku}","quantity":1,"__proto__":{"price":0},"constructor":{"prototype":{}}}`;
  const placed = await shop.send('POST', '/orders', `{"items":[${line}],"__proto__":{"total":0}}`);
  expect(placed).toMatchObject({ status: 201, body: { total: 700 } });
  expect(
    await shop.send('GET', '/skus?__proto__[admin]=1&constructor[prototype][admin]=1'),
  ).toMatchObject({ status: 200 });
  expect(({} as { admin?: unknown }).admin).toBeUndefined();
});

it('a failure of the server says so, and nothing about its insides', async () => {
  shop.app.useLogger(false);
  await shop.sql('ALTER TABLE sku RENAME TO sku_hidden');
  const answer = await shop.get('/skus');
  await shop.sql('ALTER TABLE sku_hidden RENAME TO sku');
  expect(answer).toEqual({
    status: 500,
    body: {
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      detail: 'something is wrong here, not with the request; it is in the log',
    },
  });
  expect((await shop.get('/skus')).status).toBe(200);
});

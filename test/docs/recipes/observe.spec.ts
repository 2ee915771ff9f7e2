import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { until } from '../../support/until.js';
import { recipe } from '../page.js';

/** What the agent sends, by its own short names. */
interface Telemetry {
  snapshots?: { op: string; ti: string; t: Span[] }[];
  jobs?: unknown[];
}

/** `c`: class, `m`: method, `ch`: the calls in it. */
interface Span {
  c: string;
  m: string;
  ch?: Span[];
}

const CLOSE = 'order.close';

let collector: Server;
let sent: Telemetry[];

beforeEach(async () => {
  sent = [];
  collector = createServer((request, response) => {
    void json(request.pipe(createGunzip())).then((body) => {
      sent.push(body as Telemetry);
      response.writeHead(201).end('{}');
    });
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  // The agent reads it when it is loaded: nothing leaves this machine.
  process.env['OBSERVE_ENDPOINT'] = `http://127.0.0.1:${port}`;
});

afterEach(() => {
  jest.restoreAllMocks();
  collector.closeAllConnections();
  collector.close();
});

it('opentelemetry.md: with Nest Observe, a handler logs the trace id of the request that scheduled it', async () => {
  const [page, { createApp }] = await recipe('opentelemetry.md', ['sdk.ts']);
  const logged: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((line) => {
    logged.push(String(line));
    return true;
  });
  const http: INestApplication = await createApp();
  const app = page.take(http);
  await http.listen(0, '127.0.0.1');
  const headers = { 'x-request-id': 'request-7' };
  const { status } = await fetch(`${await http.getUrl()}/orders/42`, { method: 'POST', headers });
  expect(status).toBe(201);
  await app.fire(CLOSE, '42');
  const snapshots = () => sent.flatMap(({ snapshots: own = [] }) => own);
  const [request] = await until(snapshots, ({ length }) => length > 0);
  expect(logged.find((line) => line.includes('closes 42'))).toMatch(/Trace ID: \S*request-7/);
  expect(request).toMatchObject({ op: '/orders/:orderId', ti: 'request-7' });
  const [call] = request?.t[0]?.ch ?? [];
  expect(call).toMatchObject({ c: 'DelayService', m: 'schedule' });
  expect(sent.flatMap(({ jobs = [] }) => jobs)).toEqual([]);
});

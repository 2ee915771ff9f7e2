import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { context, SpanKind, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { parentOf, Sdk } from '../support/opentelemetry.js';
import { RunningShop } from './support/running-shop.js';

/** An order is placed by a request, and closed half an hour later, by other processes of the shop. */

const sdk = new Sdk();
let database: TestDatabase;
let shop: RunningShop;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(() => shop.close());

/** As an instrumentation of HTTP does it. */
function inSpan({ method, url }: IncomingMessage, response: ServerResponse, next: () => void) {
  const span = trace.getTracer('test').startSpan(`${method} ${url}`, { kind: SpanKind.SERVER });
  response.once('finish', () => span.end());
  context.with(trace.setSpan(context.active(), span), next);
}

const start = async (nodeName: string): Promise<void> => {
  const queue = { nodeName, telemetry: openTelemetry() };
  const setup = { travels: true, queue, use: inSpan };
  shop = await RunningShop.open({ payWithinMs: 30 * 60_000 }, database, setup);
};

const path = (span: ReadableSpan): string[] => {
  const parent = parentOf(span, sdk.spans);
  return [span.name, ...(parent === undefined ? [] : path(parent))];
};

/** The database refuses to close orders. */
const FAULT = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'a fault of the test'; END $$;
  CREATE TRIGGER refuse BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION refuse()`;

it('one trace leads from the request through a failure and a restart to the close', async () => {
  await start('first');
  const sku = await shop.newSku();
  const { id } = await shop.place(sku);
  await shop.stop();

  await start('second');
  await shop.sql(FAULT);
  await shop.time.advance('30m');
  await shop.sql('DROP TRIGGER refuse ON orders');
  await shop.stop();

  await start('third');
  await shop.time.advance('10m');
  expect(await shop.order(id)).toMatchObject({ status: 'CLOSED' });

  const runs = sdk.named('process order.close');
  const toTheRequest = ['process order.close', 'schedule order.close', 'POST /orders'];
  expect(runs.map(path)).toEqual(runs.map(() => toTheRequest));
  const told = runs.map(({ attributes }) => [
    String(attributes['messaging.client.id']).split(':')[0],
    attributes['messaging.nestjs_delay_queue.outcome'],
  ]);
  // It may have been tried again before the restart.
  expect(told[0]).toEqual(['second', 'retrying']);
  expect(told.at(-1)).toEqual(['third', 'completed']);
  const [placed] = sdk.named('POST /orders');
  for (const run of runs) {
    expect(run.spanContext().traceId).toBe(placed?.spanContext().traceId);
  }
});

import type { Adapter } from './adapters/adapter.js';
import {
  callOrder,
  carryOut,
  type Calling,
  callingTable,
  measureCalls,
  WARM_UP,
  withProducer,
} from './measure/calls.js';
import { openSite } from './measure/site.js';
import type { CallOrder } from './processes/protocol.js';
import { figure, type Table } from './report/table.js';
import type { Bench } from './run/scenario.js';

/** Scheduling as fast as the answers come, from one process: one by one, and many by one call. */
export async function run(bench: Bench): Promise<Table[]> {
  const { calls, bulkCount, bulk, inFlight } = bench.settings;
  const table = await callingTable(bench, {
    name: 'enqueue',
    title: 'Enqueue, from one process',
    notes: [
      `one by one: ${figure(calls)} delays, ${inFlight} calls in flight, each awaits its commit`,
      `in bulk: ${figure(bulkCount)} delays, one call at a time, each awaits its commit`,
      'each delay with a business key where the system has one, due tomorrow, no worker running',
      '"wrong": delays that are not in the table or queue afterwards, or that were never scheduled',
    ],
    column: 'a call',
    ways: [1, ...bulk],
    shown: shownSize,
    measure: (adapter, size) => measure(bench, adapter, size),
  });
  return [table];
}

/** Delays of one call. */
const shownSize = (size: number): string => (size === 1 ? 'one' : figure(size));

async function measure(bench: Bench, adapter: Adapter, size: number): Promise<Calling | undefined> {
  const order = orderOf(bench, size);
  const site = await openSite(bench, adapter, `empty ${adapter.name}`, (url) =>
    adapter.prepare(url),
  );
  const calling = await withProducer(adapter, site.url, [order.call], async (producer) => {
    const warmUp = { ...order, first: order.count, count: Math.min(WARM_UP, order.count) };
    await carryOut(producer, warmUp);
    const measured = await measureCalls(site, producer, order);
    const wrong = Math.abs((await adapter.left(site.url)) - order.count - warmUp.count);
    return { ...measured, wrong };
  });
  await site.drop();
  return calling;
}

function orderOf(bench: Bench, size: number): CallOrder {
  const { calls, bulkCount } = bench.settings;
  return size === 1
    ? callOrder(bench, { call: 'schedule', first: 0, count: calls })
    : callOrder(bench, { call: 'scheduleMany', first: 0, count: bulkCount, inFlight: 1, size });
}

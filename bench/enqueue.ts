import type { Adapter } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import {
  callingCells,
  CALLING_COLUMNS,
  callOrder,
  carryOut,
  type Calling,
  measureCalls,
  shownCalling,
  WARM_UP,
  withProducer,
} from './calling.js';
import type { CallOrder } from './processes/protocol.js';
import { figure, type Table } from './report/table.js';
import { openSite } from './site.js';

interface Variant {
  title: string;
  adapter: Adapter;
  /** Delays of one call. */
  size: number;
}

/** Scheduling as fast as the answers come, from one process: one by one, and many by one call. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = [1, ...settings.bulkSizes].flatMap((size) =>
    adaptersLike(settings.systems).map((adapter) => ({
      title: `enqueue · ${adapter.name} · ${shownSize(size)}`,
      adapter,
      size,
    })),
  );
  const results = await interleaved(
    bench,
    variants,
    (variant) => measure(bench, variant),
    shownCalling,
  );
  return [
    {
      name: 'enqueue',
      title: 'Enqueue, from one process',
      notes: [
        `one by one: ${figure(settings.calls)} delays, ${settings.inFlight} calls in flight, each awaits its commit`,
        `in bulk: ${figure(settings.bulkCount)} delays, one call at a time, each awaits its commit`,
        'each delay with a business key where the system has one, due tomorrow, no worker running',
        '"wrong": delays that are not in the table or queue afterwards, or that nobody scheduled',
        ...new Set(variants.map(({ adapter }) => adapter.settings)),
      ],
      columns: ['system', 'a call', ...CALLING_COLUMNS],
      rows: results.map(({ variant, measurements }) => [
        variant.adapter.name,
        shownSize(variant.size),
        ...callingCells(measurements.filter((calling) => calling !== undefined)),
      ]),
    },
  ];
}

const shownSize = (size: number): string => (size === 1 ? 'one' : figure(size));

async function measure(bench: Bench, { adapter, size }: Variant): Promise<Calling | undefined> {
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

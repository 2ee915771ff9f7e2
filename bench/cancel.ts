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
import { figure, type Table } from './report/table.js';
import { openSite } from './site.js';

type Cancel = 'cancel' | 'cancelInTransaction';

interface Variant {
  title: string;
  adapter: Adapter;
  cancel: Cancel;
}

const SHOWN: Record<Cancel, string> = {
  cancel: 'of its own',
  cancelInTransaction: "the caller's",
};

/** The fill, through the system's own bulk call. */
const FILL_SIZE = 1_000;

/** Those that are asked for once more when they are gone. */
const AGAIN = 100;

/** Cancelling waiting delays by key, from one process. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = (['cancel', 'cancelInTransaction'] as const).flatMap((cancel) =>
    adaptersLike(settings.systems).map((adapter) => ({
      title: `cancel · ${adapter.name} · transaction ${SHOWN[cancel]}`,
      adapter,
      cancel,
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
      name: 'cancel',
      title: `Cancel of ${figure(settings.calls)} waiting delays by key, from one process`,
      notes: [
        `${settings.inFlight} calls in flight, each awaits its commit; no worker running`,
        '"the caller\'s": inside a transaction that the caller begins and commits',
        '"wrong": answers that the delay was absent, delays left behind, and a second cancel that finds one',
        ...new Set(variants.map(({ adapter }) => adapter.settings)),
      ],
      columns: ['system', 'transaction', ...CALLING_COLUMNS],
      rows: results.map(({ variant, measurements }) => [
        variant.adapter.name,
        SHOWN[variant.cancel],
        ...callingCells(measurements.filter((calling) => calling !== undefined)),
      ]),
    },
  ];
}

async function measure(bench: Bench, { adapter, cancel }: Variant): Promise<Calling | undefined> {
  const count = bench.settings.calls;
  const warmUp = Math.min(WARM_UP, count);
  const site = await openSite(bench, adapter, `cancel ${adapter.name}`, async (url) => {
    await adapter.prepare(url);
    await fill(bench, adapter, url, count + warmUp);
  });
  const calling = await withProducer(adapter, site.url, [cancel], async (producer) => {
    await carryOut(producer, callOrder(bench, { call: cancel, first: count, count: warmUp }));
    const order = callOrder(bench, { call: cancel, first: 0, count });
    const { found, ...measured } = await measureCalls(site, producer, order);
    const again = Math.min(AGAIN, count);
    const foundAgain = await carryOut(producer, { ...order, count: again });
    const left = await adapter.left(site.url);
    return { ...measured, wrong: count - found + foundAgain + left };
  });
  await site.drop();
  return calling;
}

/** As an application does it, so that the delays have the keys that `cancel` asks for. */
async function fill(bench: Bench, adapter: Adapter, url: string, count: number): Promise<void> {
  await withProducer(adapter, url, ['cancel'], (producer) => {
    const bulk = producer.calls.includes('scheduleMany');
    const order = bulk
      ? callOrder(bench, { call: 'scheduleMany', first: 0, count, inFlight: 1, size: FILL_SIZE })
      : callOrder(bench, { call: 'schedule', first: 0, count });
    return carryOut(producer, order);
  });
}

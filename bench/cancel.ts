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
import { figure, type Table } from './report/table.js';
import type { Bench } from './run/scenario.js';

type Cancel = 'cancel' | 'cancelInTransaction';

interface Way {
  cancel: Cancel;
  /** Delays with keys that wait beside those that are cancelled. */
  beside: number;
}

const SHOWN: Record<Cancel, string> = {
  cancel: 'of its own',
  cancelInTransaction: "the caller's",
};
const CANCELS = Object.keys(SHOWN) as Cancel[];

/** The fill, through the system's own bulk call. */
const FILL_SIZE = 1_000;

/** Those that are asked for once more when they are gone. */
const AGAIN = 100;

/** Cancelling waiting delays by key, from one process. */
export async function run(bench: Bench): Promise<Table[]> {
  const { calls, inFlight, pending } = bench.settings;
  const table = await callingTable<Way>(bench, {
    name: 'cancel',
    title: `Cancel of ${figure(calls)} waiting delays by key, from one process`,
    notes: [
      `${inFlight} calls in flight, each awaits its commit; no worker running`,
      '"the caller\'s": inside a transaction that the caller begins and commits',
      '"wrong": answers that the delay was absent, delays left behind, and a second cancel that finds one',
    ],
    column: 'transaction',
    ways: pending.flatMap((beside) => CANCELS.map((cancel) => ({ cancel, beside }))),
    shown: ({ cancel, beside }) =>
      beside === 0 ? SHOWN[cancel] : `${SHOWN[cancel]}, beside ${figure(beside)}`,
    measure: (adapter, way) => measure(bench, adapter, way),
  });
  return [table];
}

async function measure(
  bench: Bench,
  adapter: Adapter,
  { cancel, beside }: Way,
): Promise<Calling | undefined> {
  const count = bench.settings.calls;
  const warmUp = Math.min(WARM_UP, count);
  const site = await openSite(bench, adapter, `cancel ${adapter.name} ${beside}`, async (url) => {
    await adapter.prepare(url);
    await fill(bench, adapter, url, count + warmUp + beside);
  });
  const calling = await withProducer(adapter, site.url, [cancel], async (producer) => {
    await carryOut(producer, callOrder(bench, { call: cancel, first: count, count: warmUp }));
    const order = callOrder(bench, { call: cancel, first: 0, count });
    const { found, ...measured } = await measureCalls(site, producer, order);
    const again = Math.min(AGAIN, count);
    const foundAgain = await carryOut(producer, { ...order, count: again });
    const left = await adapter.left(site.url);
    return { ...measured, wrong: count - found + foundAgain + left - beside };
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

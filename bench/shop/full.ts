import { setTimeout as pause } from 'node:timers/promises';
import { openSite } from '../measure/site.js';
import { busyShare, coresMs } from '../report/machine.js';
import { percentilesOf } from '../report/statistics.js';
import type { Column } from '../report/table.js';
import type { Bench, Variant } from '../run/scenario.js';
import { cpuSecondsOf, ownCpuTime } from '../server/process-cpu.js';
import { Answers } from './answers.js';
import { ShopClient } from './client.js';
import { brokenInvariants } from './findings.js';
import { MeasuredShop } from './measured-shop.js';
import { buildShop, skuOf } from './orders.js';

/** No timer ends within the measurement: placing alone is measured. */
const LONG_LIFE = { ORDER_PAY_WITHIN: '30m', ORDER_REMIND_BEFORE: '10m', ORDER_SMS_AFTER: '5m' };

const WARM_UP_SECONDS_MAX = 5;
const WARM_UP_SHARE = 0.25;

export interface FullVariant extends Variant {
  skus: number;
  connections: number;
}

interface Full {
  answers: Answers;
  perSecond: number;
  shopMicros: number;
  serverMicros: number;
  benchMicros: number;
  statements: number;
  /** Of all cores, 0 to 1. */
  machine: number;
  broken: readonly string[];
}

export const FULL: readonly Column<Full>[] = [
  { title: 'orders/s', of: ({ perSecond }) => perSecond },
  { title: 'p50 ms', of: ({ answers }) => percentilesOf(answers.tookMs).p50Ms, digits: 1 },
  { title: 'p99 ms', of: ({ answers }) => percentilesOf(answers.tookMs).p99Ms, digits: 1 },
  { title: 'shop µs/order', of: ({ shopMicros }) => shopMicros },
  { title: 'server µs/order', of: ({ serverMicros }) => serverMicros },
  { title: 'bench µs/order', of: ({ benchMicros }) => benchMicros },
  { title: 'statements/order', of: ({ statements }) => statements, digits: 1 },
  { title: 'machine %', of: ({ machine }) => machine * 100 },
];

/** Buyers who order again as soon as they are answered. */
export async function measureFull(
  bench: Bench,
  { skus, connections }: FullVariant,
  seconds: number,
): Promise<Full> {
  const site = await openSite(bench, {}, `shop ${skus}`, (url) => buildShop(url, skus), {
    countStatements: true,
  });
  const shop = await MeasuredShop.start(site.url, LONG_LIFE);
  const client = new ShopClient(shop.url);
  const stopped = new AbortController();
  const answers = new Answers();
  let next = 0;
  const buyer = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const items = [{ sku: skuOf(next++ % skus), quantity: 1 }];
      const answer = await client.send('POST', '/orders', { items });
      if (!stopped.signal.aborted) answers.note(answer, 201);
    }
  };
  const buyers = Array.from({ length: connections }, buyer);
  await pause(Math.min(WARM_UP_SECONDS_MAX, seconds * WARM_UP_SHARE) * 1_000);

  await site.begin();
  const before = await usage(shop);
  answers.forget();
  await pause(seconds * 1_000);
  stopped.abort();
  const after = await usage(shop);
  const done = await site.done();
  await Promise.all(buyers);
  const broken = await brokenInvariants(client);
  client.close();
  await shop.stop();
  await site.drop();

  const orders = answers.tookMs.length - answers.unexpectedCount;
  const elapsedSeconds = (after.atMs - before.atMs) / 1_000;
  const each = (cpuSeconds: number): number => (cpuSeconds * 1e6) / orders;
  return {
    answers,
    perSecond: orders / elapsedSeconds,
    shopMicros: each(after.shopCpuSeconds - before.shopCpuSeconds),
    serverMicros: each(done.cpuSeconds),
    benchMicros: each(after.benchCpuSeconds - before.benchCpuSeconds),
    statements: done.statements / orders,
    machine: busyShare(before.cores, after.cores),
    broken,
  };
}

async function usage(shop: MeasuredShop) {
  return {
    atMs: performance.now(),
    shopCpuSeconds: await shop.cpuSeconds(),
    benchCpuSeconds: cpuSecondsOf(ownCpuTime()),
    cores: coresMs(),
  };
}

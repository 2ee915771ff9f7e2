import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench } from '../bench.js';
import { skuOf } from '../burst/orders.js';
import { openSite } from '../site.js';
import { Answers } from './answers.js';
import { ShopClient } from './client.js';
import { brokenInvariants } from './findings.js';
import { MeasuredShop } from './measured-shop.js';
import type { ProcessReading } from './probe.js';
import { type Crowd, SessionWatch, type TimeSpent } from './sessions.js';
import { buildShop } from './shop-tables.js';

/** No timer ends within the measurement: placing alone is measured. */
const LONG_LIFE = { ORDER_PAY_WITHIN: '30m', ORDER_REMIND_BEFORE: '10m', ORDER_SMS_AFTER: '5m' };

const WARM_UP_SECONDS_MAX = 5;
const WARM_UP_SHARE = 0.25;

export interface FullVariant {
  title: string;
  skus: number;
  connections: number;
}

export interface Full {
  answers: Answers;
  perSecond: number;
  shopMicros: number;
  serverMicros: number;
  benchMicros: number;
  statements: number;
  /** 1: a core of its own, all the time. */
  busiestProcess: number;
  /** Of all cores, 0 to 1. */
  machine: number;
  spent: Record<Crowd, TimeSpent>;
  broken: readonly string[];
}

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
  let [answers, next] = [new Answers(), 0];
  const buyer = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const items = [{ sku: skuOf(next++ % skus), quantity: 1 }];
      const answer = await client.send('POST', '/orders', { items });
      if (!stopped.signal.aborted) answers.note(answer, 201);
    }
  };
  const buyers = Array.from({ length: connections }, buyer);
  await pause(Math.min(WARM_UP_SECONDS_MAX, seconds * WARM_UP_SHARE) * 1_000);

  const sessions = await SessionWatch.start(site.url);
  await site.begin();
  const before = await usage(shop);
  answers = new Answers();
  await pause(seconds * 1_000);
  stopped.abort();
  const after = await usage(shop);
  const done = await site.done();
  const spent = await sessions.stop();
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
    busiestProcess: busiestOf(before.readings, after.readings) / elapsedSeconds,
    machine:
      1 - (after.cores.idleMs - before.cores.idleMs) / (after.cores.allMs - before.cores.allMs),
    spent,
    broken,
  };
}

interface Usage {
  atMs: number;
  shopCpuSeconds: number;
  benchCpuSeconds: number;
  readings: readonly ProcessReading[];
  cores: { idleMs: number; allMs: number };
}

async function usage(shop: MeasuredShop): Promise<Usage> {
  const { user, system } = process.cpuUsage();
  return {
    atMs: performance.now(),
    shopCpuSeconds: await shop.cpuSeconds(),
    benchCpuSeconds: (user + system) / 1e6,
    readings: await shop.readings(),
    cores: coresMs(),
  };
}

/** @returns CPU seconds */
function busiestOf(before: readonly ProcessReading[], after: readonly ProcessReading[]): number {
  const used = after.map(
    ({ name, cpuSeconds }) =>
      cpuSeconds - (before.find((reading) => reading.name === name)?.cpuSeconds ?? 0),
  );
  return Math.max(0, ...used);
}

function coresMs(): Usage['cores'] {
  const sum = { idleMs: 0, allMs: 0 };
  for (const { times } of cpus()) {
    sum.idleMs += times.idle;
    for (const ms of Object.values(times)) sum.allMs += ms;
  }
  return sum;
}

import type { Client } from 'pg';
import type { Bench } from '../bench.js';
import { connect } from '../server/bench-server.js';
import { openSite } from '../site.js';
import type { Answers } from './answers.js';
import { ShopClient } from './client.js';
import {
  awaitTimers,
  brokenInvariants,
  countOrders,
  databaseNow,
  latenessSince,
  type OrderCounts,
  type TimerLateness,
} from './findings.js';
import { MeasuredShop } from './measured-shop.js';
import { PageVisitors } from './page-visitors.js';
import type { ProcessReading } from './probe.js';
import { buildShop } from './shop-tables.js';
import { Traffic } from './traffic.js';

/** An order's life within seconds, so that its end is measured as well. */
export const SHORT_LIFE = {
  ORDER_PAY_WITHIN: '5s',
  ORDER_REMIND_BEFORE: '2s',
  ORDER_SMS_AFTER: '1s',
};

export const SKUS = 5;

/** What the shop is given to compile its code and fill its caches, at most. */
const WARM_UP_SECONDS_MAX = 10;
const WARM_UP_SHARE = 0.25;

const HALVES = 2;

/** One process at three moments: before, between the halves and after. */
export interface ProcessHistory {
  name: string;
  readings: readonly ProcessReading[];
}

export interface Steady {
  lateness: readonly TimerLateness[];
  /** By request; those nobody made are left out. */
  answers: readonly (readonly [request: string, answers: Answers])[];
  processes: readonly ProcessHistory[];
  /** Of the two halves. */
  minutes: number;
  orders: OrderCounts;
  shopMicros: number;
  serverMicros: number;
  statements: number;
  broken: readonly string[];
}

/**
 * Orders at a steady pace, whose buyers pay, pay too late, cancel or forget them, beside visitors of
 * the page. After each half all timers are waited for, garbage is collected and memory is read.
 */
export async function measureSteady(bench: Bench): Promise<Steady> {
  const { ordersPerSecond: perSecond, shopSeconds } = bench.settings;
  const site = await openSite(bench, {}, `shop ${SKUS}`, (url) => buildShop(url, SKUS), {
    countStatements: true,
  });
  const shop = await MeasuredShop.start(site.url, SHORT_LIFE);
  const [client, database] = [new ShopClient(shop.url), await connect(site.url)];
  const busy = async (seconds: number, traffic: Traffic, visitors: PageVisitors) => {
    await visitors.come();
    await traffic.run({ perSecond, seconds, skus: SKUS });
    await visitors.leave();
    return settled(shop, database);
  };

  const warmUpSeconds = Math.min(WARM_UP_SECONDS_MAX, shopSeconds * WARM_UP_SHARE);
  const readings = [await busy(warmUpSeconds, new Traffic(client), new PageVisitors(shop.url))];
  const [since, before] = [await databaseNow(database), await countOrders(database)];
  const cpuSecondsBefore = await shop.cpuSeconds();
  await site.begin();
  const [traffic, visitors] = [new Traffic(client), new PageVisitors(shop.url)];
  while (readings.length <= HALVES) {
    readings.push(await busy(shopSeconds / HALVES, traffic, visitors));
  }
  const done = await site.done();
  const cpuSeconds = (await shop.cpuSeconds()) - cpuSecondsBefore;
  const orders = difference(await countOrders(database), before);
  const lateness = await latenessSince(database, since);
  const broken = await brokenInvariants(client);
  client.close();
  await shop.stop();
  await database.end();
  await site.drop();
  return {
    lateness,
    answers: answersOf(traffic, visitors),
    processes: historiesOf(readings),
    minutes: shopSeconds / 60,
    orders,
    shopMicros: (cpuSeconds * 1e6) / orders.placed,
    serverMicros: (done.cpuSeconds * 1e6) / orders.placed,
    statements: done.statements / orders.placed,
    broken,
  };
}

/** Whatever the orders set going has ended, and garbage is collected. */
async function settled(shop: MeasuredShop, database: Client): Promise<ProcessReading[]> {
  const left = await awaitTimers(database);
  if (left > 0) throw new Error(`${left} timers of the shop do not end`);
  return shop.readings({ collected: true });
}

const answersOf = (traffic: Traffic, visitors: PageVisitors): Steady['answers'] =>
  Object.entries({
    ...traffic.answers,
    'GET /': visitors.pages,
    'GET /feed, first event': visitors.feeds,
  }).filter(([, { tookMs }]) => tookMs.length > 0);

/** A process that has died meanwhile, and the one in its place, have fewer moments. */
function historiesOf(moments: readonly ProcessReading[][]): ProcessHistory[] {
  const names = new Set(moments.flat().map(({ name }) => name));
  return [...names].map((name) => ({
    name,
    readings: moments.flatMap((moment) => moment.filter((reading) => reading.name === name)),
  }));
}

const difference = (after: OrderCounts, before: OrderCounts): OrderCounts => ({
  placed: after.placed - before.placed,
  paid: after.paid - before.paid,
  closed: after.closed - before.closed,
  refunded: after.refunded - before.refunded,
});

import { openSite } from '../measure/site.js';
import { percentilesOf } from '../report/statistics.js';
import { cellsOf, type Column, figure, type Table } from '../report/table.js';
import type { Settings } from '../run/command-line.js';
import type { Bench } from '../run/scenario.js';
import { connect } from '../server/bench-server.js';
import { type Answers, shownBroken, shownUnexpected } from './answers.js';
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
import { buildShop } from './orders.js';
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

interface Steady {
  lateness: readonly TimerLateness[];
  /** By request; those without an answer are left out. */
  answers: readonly (readonly [request: string, answers: Answers])[];
  orders: OrderCounts;
  shopMicros: number;
  serverMicros: number;
  statements: number;
  broken: readonly string[];
}

/**
 * Orders at a steady pace, whose buyers pay, pay too late, cancel or forget them, beside visitors of
 * the page, until all of their timers have ended.
 */
export async function measureSteady(bench: Bench, seconds: number): Promise<Steady> {
  const { ordersPerSecond: perSecond } = bench.settings;
  const site = await openSite(bench, {}, `shop ${SKUS}`, (url) => buildShop(url, SKUS), {
    countStatements: true,
  });
  const shop = await MeasuredShop.start(site.url, SHORT_LIFE);
  const [client, database] = [new ShopClient(shop.url), await connect(site.url)];
  const [traffic, visitors] = [new Traffic(client), new PageVisitors(shop.url)];
  const busy = async (during: number): Promise<void> => {
    await visitors.come();
    await traffic.run({ perSecond, seconds: during, skus: SKUS });
    await visitors.leave();
    const left = await awaitTimers(database);
    if (left > 0) throw new Error(`${left} timers of the shop do not end`);
  };

  const warmUpSeconds = Math.min(WARM_UP_SECONDS_MAX, seconds * WARM_UP_SHARE);
  await busy(warmUpSeconds);
  for (const answers of Object.values(answersOf(traffic, visitors))) answers.forget();
  const [since, before] = [await databaseNow(database), await countOrders(database)];
  const cpuSecondsBefore = await shop.cpuSeconds();
  await site.begin();
  await busy(seconds);
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
    answers: Object.entries(answersOf(traffic, visitors)).filter(
      ([, { tookMs }]) => tookMs.length > 0,
    ),
    orders,
    shopMicros: (cpuSeconds * 1e6) / orders.placed,
    serverMicros: (done.cpuSeconds * 1e6) / orders.placed,
    statements: done.statements / orders.placed,
    broken,
  };
}

const answersOf = (traffic: Traffic, visitors: PageVisitors): Record<string, Answers> => ({
  ...traffic.answers,
  'GET /': visitors.pages,
  'GET /feed, first event': visitors.feeds,
});

const difference = (after: OrderCounts, before: OrderCounts): OrderCounts => ({
  placed: after.placed - before.placed,
  paid: after.paid - before.paid,
  closed: after.closed - before.closed,
  refunded: after.refunded - before.refunded,
});

const LATENESS: readonly Column<TimerLateness>[] = [
  { title: 'fired', of: ({ fired }) => fired },
  { title: 'late p50 ms', of: ({ p50Ms }) => p50Ms, digits: 1 },
  { title: 'late p99 ms', of: ({ p99Ms }) => p99Ms, digits: 1 },
  { title: 'most ms', of: ({ maxMs }) => maxMs, digits: 1 },
];

const ANSWERS: readonly Column<Answers>[] = [
  { title: 'answers', of: ({ tookMs }) => tookMs.length },
  { title: 'p50 ms', of: ({ tookMs }) => percentilesOf(tookMs).p50Ms, digits: 1 },
  { title: 'p99 ms', of: ({ tookMs }) => percentilesOf(tookMs).p99Ms, digits: 1 },
  { title: 'most ms', of: ({ tookMs }) => percentilesOf(tookMs).maxMs, digits: 1 },
];

const ORDERS: readonly Column<Steady>[] = [
  { title: 'placed', of: ({ orders }) => orders.placed },
  { title: 'paid', of: ({ orders }) => orders.paid },
  { title: 'closed', of: ({ orders }) => orders.closed },
  { title: 'refunded', of: ({ orders }) => orders.refunded },
  { title: 'shop µs/order', of: ({ shopMicros }) => shopMicros },
  { title: 'server µs/order', of: ({ serverMicros }) => serverMicros },
  { title: 'statements/order', of: ({ statements }) => statements, digits: 1 },
];

/** What is said of a measurement while the run goes on. */
export const STEADY: readonly Column<Steady>[] = [
  { title: 'timers late p99 ms', of: ({ lateness }) => lateness.at(-1)?.p99Ms ?? Number.NaN },
  ...ORDERS,
];

export function steadyTables(
  steadies: readonly Steady[],
  { ordersPerSecond }: Settings,
  seconds: number,
): Table[] {
  const title = `The sample shop at ${figure(ordersPerSecond)} orders/s for ${figure(seconds)} s`;
  return [
    {
      name: 'shop-lateness',
      title: `${title}: timers`,
      notes: ['"late": begin of the handler minus due, by the history of the library'],
      columns: ['timer', ...LATENESS.map(({ title: column }) => column)],
      rows: byName(
        steadies.flatMap(({ lateness }) => lateness),
        ({ name }) => name,
      ).map(([name, found]) => [name, ...cellsOf(LATENESS, found)]),
    },
    {
      name: 'shop-answers',
      title: `${title}: answers`,
      notes: [
        'open loop over connections that stay open; "/" and "/feed" each second, over a new one',
        'what has no answers is left out: without `npm run build` there is no page',
      ],
      columns: ['request', ...ANSWERS.map(({ title: column }) => column), 'unexpected'],
      rows: byName(
        steadies.flatMap(({ answers }) => answers),
        ([request]) => request,
      ).map(([request, found]) => {
        const answers = found.map(([, each]) => each);
        return [request, ...cellsOf(ANSWERS, answers), shownUnexpected(answers)];
      }),
    },
    {
      name: 'shop-orders',
      title: `${title}: orders`,
      notes: [
        'a third is paid, a third paid late or cancelled, a third left; µs of CPU for all of it',
      ],
      columns: ['orders', ...ORDERS.map(({ title: column }) => column), 'invariants'],
      rows: [['of all', ...cellsOf(ORDERS, steadies), shownBroken(steadies)]],
    },
  ];
}

/** The figures of all rounds by name, in the order in which the first has them. */
function byName<T>(all: readonly T[], named: (each: T) => string): [name: string, found: T[]][] {
  const names = new Set(all.map(named));
  return [...names].map((name) => [name, all.filter((each) => named(each) === name)]);
}

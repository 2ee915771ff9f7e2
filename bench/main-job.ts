import { account, type Accounting, shownAccounting } from './accounting.js';
import type { Adapter, Running } from './adapters/adapter.js';
import { adaptersLike } from './adapters/adapters.js';
import { type Bench, interleaved } from './bench.js';
import { ORDERS, POOL_MAX } from './adapters/orders.js';
import { awaitSettled } from './processes/await-settled.js';
import { BenchProcess } from './processes/bench-process.js';
import { type Cell, cellsOf, type Column, figure, rounds, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { openSite, statementSource } from './site.js';

interface Variant {
  title: string;
  adapter: Adapter;
  running: Running;
}

interface MainJob {
  perSecond: number;
  serverMicros: number;
  workerMicros: number;
  statements: number;
  claims: number;
  accounting: Accounting;
}

const COLUMNS: readonly Column<MainJob>[] = [
  { title: 'orders/s', of: ({ perSecond }) => perSecond },
  { title: 'server µs', of: ({ serverMicros }) => serverMicros },
  { title: 'worker µs', of: ({ workerMicros }) => workerMicros },
  { title: 'statements', of: ({ statements }) => statements, digits: 2 },
  { title: 'claims', of: ({ claims }) => claims, digits: 3 },
];

/** What each order is measured beside. */
const FLOOR = 'no queue';

/** In the order of the table; the floors first. */
const LINES: readonly { system: string; shown: string; running?: Partial<Running> }[] = [
  { system: FLOOR, shown: 'the transaction alone, no queue' },
  { system: 'bare sessions', shown: 'claim, fence, removal on bare sessions: exactly once' },
  { system: 'pg-boss fast', shown: 'pg-boss fast: at least once' },
  { system: 'graphile-worker batched', shown: 'graphile-worker batched: at least once' },
  { system: 'BullMQ Redis everysec', shown: 'BullMQ on Redis: at least once' },
  { system: 'ours, history on', shown: 'ours: exactly once' },
  { system: 'ours, history on', shown: 'ours, concurrency 100', running: { concurrency: 100 } },
  { system: 'ours, history on', shown: 'ours, batches of 200', running: { batch: 200 } },
  { system: 'pg-boss transactional', shown: 'pg-boss transactional, batches of 200' },
];

/** One order closes in one transaction: the main job, beside that transaction without a queue. */
export async function run(bench: Bench): Promise<Table[]> {
  const { orders } = bench.settings;
  const variants = variantsOf(bench);
  const results = await interleaved(
    bench,
    variants,
    (variant) => measure(bench, variant),
    (job) => `${figure(job.perSecond)}/s, lost / twice ${shownAccounting([job.accounting])}`,
  );
  const floor = results.find(({ variant }) => variant.adapter.name === FLOOR)?.measurements;
  const ratios = (measurements: readonly MainJob[]): number[] =>
    measurements.map(
      ({ perSecond }, round) => perSecond / (floor?.[round]?.perSecond ?? Number.NaN),
    );
  return [
    {
      name: 'main-job',
      title: `${figure(orders)} unpaid orders are due, each is closed in a transaction`,
      notes: [
        `the handler: ${ORDERS.close}`,
        `through TypeORM, a pool of ${POOL_MAX} of the application; a cold process, all options as they come`,
        'from the first call of a handler to the last order that its queue is done with',
        'µs of the processor (of Postgres and, where there is one, of Redis), statements and claims for each order',
        '"ratio": to the transaction alone in the same round',
        'the close of the sample shop, with stock, news and its floor, is measured by `burst`',
        await statementSource(bench),
        ...new Set(variants.map(({ adapter }) => adapter.settings)),
      ],
      columns: ['what', ...COLUMNS.map(({ title }) => title), 'ratio', 'lost / twice'],
      rows: results.map(({ variant, measurements }): Cell[] => [
        variant.title.replace('main-job · ', ''),
        ...cellsOf(COLUMNS, measurements),
        rounds(ratios(measurements), 2),
        shownAccounting(measurements.map(({ accounting }) => accounting)),
      ]),
    },
  ];
}

/** Of all lines those whose system is meant and installed; the floor is always among them. */
function variantsOf({ settings }: Bench): Variant[] {
  const meant = settings.systems.map((part) => part.toLowerCase());
  const isMeant = (system: string): boolean =>
    system === FLOOR ||
    meant.length === 0 ||
    meant.some((part) => system.toLowerCase().includes(part));
  return LINES.filter(({ system }) => isMeant(system)).flatMap(({ system, shown, running }) => {
    const adapter = adaptersLike([system]).find(({ name }) => name === system);
    return adapter === undefined
      ? []
      : [{ title: `main-job · ${shown}`, adapter, running: { handler: 'close', ...running } }];
  });
}

async function measure(bench: Bench, { adapter, running }: Variant): Promise<MainJob> {
  const { orders } = bench.settings;
  const site = await openSite(
    bench,
    adapter,
    `main-job ${adapter.name}`,
    (url) => build(adapter, url, orders),
    { countStatements: true },
  );
  const worker = await BenchProcess.open({
    role: 'worker',
    system: adapter.name,
    url: site.url,
    count: orders,
    running,
  });
  const postgres = (await bench.server()).cpu;
  const before = await postgres.seconds();
  await site.begin();
  worker.send({ type: 'start' });
  const [report] = await awaitSettled([worker], orders);
  const done = await site.done();
  // The orders are in Postgres, wherever the queue is.
  const besideSeconds = adapter.elsewhere ? (await postgres.seconds()) - before : 0;
  const claims = await site.claims();
  await worker.stop();
  const accounting = account(report ? [report] : [], orders, await leftBehind(adapter, site.url));
  await site.drop();
  const { firstHandledAtNs = 0n, lastSettledAtNs = 0n, cpuSeconds = Number.NaN } = report ?? {};
  return {
    perSecond: (orders - accounting.lost) / (Number(lastSettledAtNs - firstHandledAtNs) / 1e9),
    serverMicros: ((done.cpuSeconds + besideSeconds) * 1e6) / orders,
    workerMicros: (cpuSeconds * 1e6) / orders,
    statements: adapter.elsewhere ? Number.NaN : done.statements / orders,
    claims: claims === 0 ? Number.NaN : claims / orders,
    accounting,
  };
}

async function build(adapter: Adapter, url: string, orders: number): Promise<void> {
  await adapter.prepare(url);
  const client = await connect(url);
  await client.query(ORDERS.create);
  await client.query(ORDERS.fill, [orders]);
  await client.end();
  await adapter.fill(url, { first: 0, count: orders, dueFromMs: -60_000, dueToMs: -1_000 });
}

/** Delays that should be gone, and orders that should be closed. */
async function leftBehind(adapter: Adapter, url: string): Promise<number> {
  const client = await connect(url);
  const { rows } = await client.query<{ count: number }>(ORDERS.open);
  await client.end();
  return (rows[0]?.count ?? Number.NaN) + (await adapter.left(url));
}

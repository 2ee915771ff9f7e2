import { setTimeout as pause } from 'node:timers/promises';
import { account, shownAccounting, type Accounting } from './accounting.js';
import { type Bench, interleaved } from './bench.js';
import { brokenRules, type Closing, closingOf } from './burst/findings.js';
import { placeOrders } from './burst/orders.js';
import { awaitSettled } from './processes/await-settled.js';
import { BenchProcess } from './processes/bench-process.js';
import type { Batch } from './processes/protocol.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { buildShop } from './shop/shop-tables.js';
import { openSite } from './site.js';

interface Variant {
  title: string;
  /** Orders of one call of the handler. */
  batch: Batch;
  processes: number;
}

interface Burst extends Closing {
  perSecond: number;
  workerMicros: number;
  serverMicros: number;
  statements: number;
  walBytes: number;
  accounting: Accounting;
  broken: readonly string[];
}

/** Longer than a node may take to look ahead (`loadEvery`), so that every deadline is planned for. */
const LEAD_MS = 15_000;

const COLUMNS: readonly Column<Burst>[] = [
  { title: 'orders closed/s', of: (burst) => burst.perSecond },
  { title: 'late p50 ms', of: (burst) => burst.p50Ms },
  { title: 'late p99 ms', of: (burst) => burst.p99Ms },
  { title: 'last ms', of: (burst) => burst.lastMs },
  { title: 'worker µs/order', of: (burst) => burst.workerMicros },
  { title: 'server µs/order', of: (burst) => burst.serverMicros },
  { title: 'statements/order', of: (burst) => burst.statements, digits: 3 },
  { title: 'WAL bytes/order', of: (burst) => burst.walBytes },
];

/** Orders of the sample shop that time out in the same second, and all that closing them means. */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const batches: Batch[] = ['no queue', 1, settings.burstBatch];
  const variants = batches.flatMap((batch) =>
    // A loop that knows all orders beforehand shares them with nobody.
    (batch === 'no queue' ? [1] : settings.processes).map((processes) => ({
      title: `burst · ${shownBatch(batch)} · ${processes} process${processes > 1 ? 'es' : ''}`,
      batch,
      processes,
    })),
  );
  const results = await interleaved(
    bench,
    variants,
    (variant) => measure(bench, variant),
    (burst) =>
      `${figure(burst.perSecond)} orders closed/s, last ${figure(burst.lastMs)} ms late, ` +
      `invariants ${shownBroken([burst])}`,
  );
  return [
    {
      name: 'burst',
      title: `${figure(settings.burstOrders)} orders of the sample shop time out in the same second`,
      notes: [
        `an order: two lines of ${figure(settings.burstSkus)} SKUs, its news in the outbox, one keyed delay`,
        'a close: the order moved by compare-and-set, its stock back, its news written, its delay removed,',
        'in one transaction; all options as the shop has them',
        '"no queue": a loop that knows all orders beforehand closes each in a transaction, and has no delays',
        '"orders closed/s": from the first deadline to the last close; the second itself is part of it',
        '"late": closed_at, written by the close itself, minus the deadline of the order',
        '"invariants": those of the shop, no order lost or closed twice or early, stock exact',
      ],
      columns: [
        'handler',
        'processes',
        ...COLUMNS.map(({ title }) => title),
        'lost / twice',
        'invariants',
      ],
      rows: results.map(({ variant, measurements }) => [
        shownBatch(variant.batch),
        String(variant.processes),
        ...cellsOf(COLUMNS, measurements),
        shownAccounting(measurements.map(({ accounting }) => accounting)),
        shownBroken(measurements),
      ]),
    },
  ];
}

const shownBatch = (batch: Batch): string => {
  if (batch === 'no queue') return 'one per order, no queue';
  return batch === 1 ? 'one per order' : `batches of ${figure(batch)}`;
};

function shownBroken(measurements: readonly Burst[]): string {
  const broken = new Set(measurements.flatMap((burst) => burst.broken));
  return broken.size === 0 ? 'hold' : [...broken].join('; ');
}

async function measure(bench: Bench, { batch, processes }: Variant): Promise<Burst> {
  const { burstOrders: orders, burstSkus: skus } = bench.settings;
  const site = await openSite(bench, {}, 'burst', (url) => buildShop(url, skus), {
    countStatements: true,
  });
  const { url } = site;
  const workers = await Promise.all(
    Array.from({ length: processes }, () =>
      BenchProcess.open({ role: 'shop worker', system: 'the shop', url, count: orders, batch }),
    ),
  );
  await Promise.all(workers.map((worker) => worker.ask({ type: 'start' }, 'started')));
  const client = await connect(url);
  const placedAtMs = performance.now();
  await placeOrders(client, { orders, skus, leadMs: LEAD_MS, delays: batch !== 'no queue' });
  await (await bench.server()).client.query('CHECKPOINT');
  // Until the last second before the deadlines: what waiting costs is the `idle` scenario's.
  await pause(Math.max(0, LEAD_MS - 1_000 - (performance.now() - placedAtMs)));
  await site.begin();
  const reports = await awaitSettled(workers, orders);
  const done = await site.done();
  await Promise.all(workers.map((worker) => worker.stop()));
  const [closing, broken] = [
    await closingOf(client),
    await brokenRules(client, batch !== 'no queue'),
  ];
  const { rows } = await client.query<{ left: number }>(
    'SELECT count(*)::int AS left FROM delay_queue.delay',
  );
  await client.end();
  await site.drop();
  const workerCpuSeconds = reports.reduce((total, report) => total + report.cpuSeconds, 0);
  return {
    ...closing,
    perSecond: orders / (closing.elapsedMs / 1_000),
    workerMicros: (workerCpuSeconds * 1e6) / orders,
    serverMicros: (done.cpuSeconds * 1e6) / orders,
    statements: done.statements / orders,
    walBytes: done.walBytes / orders,
    accounting: account(reports, orders, rows[0]?.left ?? Number.NaN),
    broken,
  };
}

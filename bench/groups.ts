import { setTimeout as pause } from 'node:timers/promises';
import { type Delay, OnDelay } from 'nestjs-delay-queue';
import { compile, OURS, prepare } from './adapters/ours.js';
import { openSite } from './measure/site.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Percentiles, percentilesOf } from './report/statistics.js';
import { type Bench, compare, type Variant } from './run/scenario.js';
import { connect } from './server/bench-server.js';

/** One tenant's sale, due in one moment, and the delays of another tenant that fall due in the seconds after it. */
const BIG = 100_000;
const SMALL = 500;
const SMALL_WITHIN_MS = 5_000;
/** By then the node has started, and has read them ahead. */
const DUE_IN_MS = 8_000;

/** What a handler takes that asks a provider. */
const HANDLER_TAKES_MS = 2;

interface GroupsOf extends Variant {
  /** Whether the two tenants are groups. */
  grouped: boolean;
}

const COLUMNS: readonly Column<Percentiles>[] = [
  { title: 'p50 ms', of: ({ p50Ms }) => p50Ms, digits: 1 },
  { title: 'p99 ms', of: ({ p99Ms }) => p99Ms, digits: 1 },
  { title: 'most ms', of: ({ maxMs }) => maxMs, digits: 1 },
];

const FILL = `
  INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
  SELECT 'bench.run', jsonb_build_object('n', $1::int + i), due, due, clock_timestamp(), $2
  FROM generate_series(0, $3::int - 1) AS i,
       LATERAL (SELECT date_trunc('milliseconds', now() + ($4::float8 + $5::float8 * i / $3::int)
                  * interval '1 millisecond')) AS d(due)`;

/** How late the small tenant's delays are beside the crowd of another one, with and without groups. */
export async function run(bench: Bench): Promise<Table[]> {
  const variants: GroupsOf[] = [
    { title: 'without groups', grouped: false },
    { title: 'each tenant a group', grouped: true },
  ];
  const table = await compare(bench, {
    name: 'groups',
    title: `Lateness of ${SMALL} delays beside ${figure(BIG)} of another tenant`,
    notes: [
      `the ${figure(BIG)} are due in one moment, the others within ${SMALL_WITHIN_MS / 1_000} s from then on`,
      `one process, an async handler that takes ${HANDLER_TAKES_MS} ms, concurrency 100, history on`,
    ],
    variants,
    measure: ({ grouped }) => measure(bench, grouped),
    labels: { '': ({ title }) => title },
    columns: COLUMNS,
  });
  return [table];
}

async function measure(bench: Bench, grouped: boolean): Promise<Percentiles> {
  const site = await openSite(bench, OURS, 'groups', prepare);
  const client = await connect(site.url);
  const latenessMs: number[] = [];
  let done!: () => void;
  const smallDone = new Promise<void>((resolve) => {
    done = resolve;
  });
  class Handler {
    @OnDelay('bench.run', { concurrency: 100 })
    async run(delay: Delay<'bench.run'>): Promise<void> {
      await pause(HANDLER_TAKES_MS);
      if (delay.payload.n < BIG) return;
      latenessMs.push(delay.latenessMs);
      if (latenessMs.length === SMALL) done();
    }
  }
  const group = (name: string): string | null => (grouped ? name : null);
  await client.query(FILL, [0, group('big'), BIG, DUE_IN_MS, 0]);
  await client.query(FILL, [BIG, group('small'), SMALL, DUE_IN_MS, SMALL_WITHIN_MS]);
  const app = await compile(site.url, {}, [Handler]);
  await app.init();
  await smallDone;
  await app.close();
  await client.end();
  await site.drop();
  return percentilesOf(latenessMs);
}

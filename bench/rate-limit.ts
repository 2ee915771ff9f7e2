import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { OURS, prepare } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { ForkedNode } from './processes/forked-node.js';
import { type Kept, keptOf } from './rate-limit/rates.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { openSite } from './site.js';

const MAX_PER_SECOND = 100;
const NODES = 3;
const CRASHES = 2;

/** All that the limit gives: it leaves a little unused, so that no second of any beginning has more. */
const ENOUGH = 95;

/** A node that died comes back. */
const BACK_AFTER_MS = 5_000;

/** More than the limit lets through. */
const backlogOf = (seconds: number): number => Math.ceil(seconds * MAX_PER_SECOND * 1.2);

const COLUMNS: readonly Column<Kept>[] = [
  { title: 'in any second, at most', of: ({ most }) => most },
  { title: 'each second', of: ({ mean }) => mean, digits: 2 },
  {
    title: 'full again after a crash, ms',
    of: ({ recoveredAfterMs }) => Math.max(...recoveredAfterMs),
  },
];

const FILL = `
  INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
  SELECT 'bench.run', jsonb_build_object('n', i), due, due, clock_timestamp()
  FROM generate_series(1, $1::int) AS i,
       LATERAL (SELECT date_trunc('milliseconds', now()) - interval '1 s') AS d(due)`;

const RECORD = 'CREATE TABLE bench_began (node integer, began_ms float8)';

/** A limit for all nodes together, while nodes are killed and come back. */
export async function run(bench: Bench): Promise<Table[]> {
  const { limitSeconds } = bench.settings;
  const results = await interleaved(
    bench,
    [{ title: `${MAX_PER_SECOND} per second on ${NODES} nodes` }],
    () => measure(bench, limitSeconds),
    ({ most, mean }) => `at most ${most} in any second, ${figure(mean, 2)} in the mean`,
  );
  return [
    {
      name: 'rate-limit',
      title: `A limit of ${MAX_PER_SECOND} per second on ${NODES} nodes, ${figure(limitSeconds)} s`,
      notes: [
        `a backlog that the limit cannot clear; ${CRASHES} nodes are killed, one after the other, and are back ${BACK_AFTER_MS / 1_000} s later`,
        "an attempt begins with its claim, on the database's clock",
        `"full again": how long after the crash a whole second began in which ${ENOUGH} began`,
      ],
      columns: ['', ...COLUMNS.map(({ title }) => title)],
      rows: results.map(({ variant, measurements }) => [
        variant.title,
        ...cellsOf(COLUMNS, measurements),
      ]),
    },
  ];
}

async function measure(bench: Bench, seconds: number): Promise<Kept> {
  const site = await openSite(bench, OURS, 'rate-limit', prepare);
  const client = await connect(site.url);
  await client.query(RECORD);
  await client.query(FILL, [backlogOf(seconds)]);
  const nodes = await Promise.all(Array.from({ length: NODES }, () => start(site.url)));
  const crashesMs: number[] = [];
  const partMs = (seconds * 1_000) / (CRASHES + 1);
  for (let crash = 0; crash < CRASHES; crash += 1) {
    await pause(partMs);
    crashesMs.push(await nowMs(client));
    await nodes[crash]?.kill();
    await pause(Math.min(BACK_AFTER_MS, partMs / 2));
    nodes[crash] = await start(site.url);
  }
  await pause(partMs);
  await Promise.all(nodes.map((node) => node.kill()));
  const { rows } = await client.query<{ began_ms: number }>(
    'SELECT began_ms FROM bench_began ORDER BY began_ms',
  );
  await client.end();
  await site.drop();
  return keptOf(
    rows.map(({ began_ms: beganMs }) => beganMs),
    crashesMs,
    ENOUGH,
  );
}

const nowMs = async (client: Client): Promise<number> =>
  (
    await client.query<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    )
  ).rows[0]?.now ?? Number.NaN;

const start = (url: string): Promise<ForkedNode> =>
  ForkedNode.start(new URL('./rate-limit/node.js', import.meta.url), [url, MAX_PER_SECOND]);

import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { ITEMS } from './adapters/adapter.js';
import { OURS, prepare } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { look, type State } from './churn-watch.js';
import { FILL, ITEMS_MAX } from './endurance/delays.js';
import type { NodeEnd, NodePart } from './endurance/node.js';
import { Traffic } from './endurance/traffic.js';
import { ForkedNode } from './processes/forked-node.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { percentile } from './report/statistics.js';
import { connect } from './server/bench-server.js';
import { holdSnapshot } from './server/held-snapshot.js';
import { openSite } from './site.js';

const NODE = new URL('./endurance/node.js', import.meta.url);

/** Of half an hour each is five minutes. */
const PARTS = 6;
/** With `--hold-snapshot`: the two in the middle. */
const HELD = [2, 3];

/** The node is up by then, and the first delays are due. */
const BEGINS_IN_S = 20;
/** What the first statements cost, and the first plans, is no part of it. */
const WARM_UP_S = 5;

/** Overdue by so much, a delay was left behind. */
const LEFT_AFTER_S = 10;

interface Part extends NodePart {
  state: State;
  /** Pages of the table of delays and its indexes that all statements touched. */
  pages: number;
  serverCpuSeconds: number;
}

interface Run {
  parts: readonly Part[];
  lost: number;
  twice: number;
  left: number;
}

const MEBIBYTE = 2 ** 20;

const COLUMNS: readonly Column<Part>[] = [
  { title: 'handled', of: ({ latenessMs }) => latenessMs.length },
  { title: 'late p50 ms', of: ({ latenessMs }) => percentile(latenessMs, 0.5), digits: 1 },
  { title: 'late p99 ms', of: ({ latenessMs }) => percentile(latenessMs, 0.99), digits: 1 },
  { title: 'pages each', of: ({ pages, latenessMs }) => pages / latenessMs.length, digits: 1 },
  {
    title: 'server µs each',
    of: ({ serverCpuSeconds, latenessMs }) => (serverCpuSeconds * 1e6) / latenessMs.length,
  },
  { title: 'table MiB', of: ({ state }) => state.delay.bytes / MEBIBYTE },
  { title: 'indexes MiB', of: ({ state }) => state.delay.indexBytes / MEBIBYTE },
  { title: 'dead rows', of: ({ state }) => state.delay.deadRows },
  { title: 'vacuums', of: ({ state }) => state.delay.vacuums },
  { title: 'node MiB', of: ({ memoryMiB }) => memoryMiB },
];

/** Whether half an hour leaves anything behind: delays far ahead at a steady rate, and autovacuum as it comes. */
export async function run(bench: Bench): Promise<Table[]> {
  const { enduranceRate, enduranceSeconds, ahead, holdsSnapshot } = bench.settings;
  const results = await interleaved(
    bench,
    [{ title: holdsSnapshot ? 'endurance, snapshot held' : 'endurance' }],
    () => measure(bench),
    ({ parts, lost, twice, left }) =>
      `p99 ${parts.map(({ latenessMs }) => figure(percentile(latenessMs, 0.99), 1)).join(' / ')} ms, ` +
      `${lost} lost, ${twice} twice, ${left} left`,
  );
  const runs = results.flatMap(({ measurements }) => measurements);
  const all = (of: (run: Run) => number): string => runs.map(of).join(', ');
  return [
    {
      name: 'endurance',
      title: `${figure(enduranceRate)} delays scheduled per second for ${figure(enduranceSeconds)} s`,
      notes: [
        `${ahead.fromS} to ${ahead.toS} s ahead; a third is cancelled, half of the rest changes a row with its attempt; history on`,
        'the table begins as it is after such delays have come for ever; autovacuum as it comes',
        ...(holdsSnapshot ? ['a snapshot is held during the two parts in the middle'] : []),
        '"pages": of the table of delays and its indexes, by all statements; sizes at the end of each part',
        `lost: ${all((each) => each.lost)}; run twice: ${all((each) => each.twice)}; ` +
          `early: ${all((each) => each.parts.reduce((sum, { early }) => sum + early, 0))}; ` +
          `overdue by ${LEFT_AFTER_S} s at the end: ${all((each) => each.left)}`,
      ],
      columns: ['part', ...COLUMNS.map(({ title }) => title)],
      rows: Array.from({ length: PARTS }, (_, index) => [
        `${index + 1}${holdsSnapshot && HELD.includes(index) ? ', held' : ''}`,
        ...cellsOf(
          COLUMNS,
          runs.map(({ parts }) => parts[index]!),
        ),
      ]),
    },
  ];
}

async function measure(bench: Bench): Promise<Run> {
  const { enduranceRate, enduranceSeconds, ahead, holdsSnapshot } = bench.settings;
  const { cpu } = await bench.server();
  const site = await openSite(bench, OURS, 'endurance', prepare);
  const client = await connect(site.url);
  await client.query(ITEMS.create);
  await client.query(ITEMS.fill, [ITEMS_MAX]);
  const filled = await client.query(FILL, [enduranceRate, ahead.fromS, ahead.toS, BEGINS_IN_S]);
  const beginsAtMs = performance.now() + BEGINS_IN_S * 1_000;
  await client.query('VACUUM ANALYZE');

  // With room for what comes while a part is written down.
  const most = [enduranceRate * ahead.toS, enduranceRate * enduranceSeconds * 2];
  const node = await ForkedNode.start(NODE, [site.url, ...most]);
  const traffic = await Traffic.open(site.url, enduranceRate, ahead);
  await pause(beginsAtMs - performance.now());
  traffic.start();
  await pause(WARM_UP_S * 1_000);
  await node.ask('part');
  const parts: Part[] = [];
  let snapshot: Client | undefined;
  for (let index = 0; index < PARTS; index += 1) {
    if (holdsSnapshot && index === HELD.at(0)) snapshot = await holdSnapshot(site.url);
    const [pages, cpuSeconds] = [await pagesTouched(client), await cpu.seconds()];
    await pause((enduranceSeconds * 1_000) / PARTS);
    const told = await node.ask<NodePart>('part');
    parts.push({
      ...told,
      state: await look(client),
      pages: (await pagesTouched(client)) - pages,
      serverCpuSeconds: (await cpu.seconds()) - cpuSeconds,
    });
    bench.progress(`part ${index + 1} of ${PARTS}: ${shown(parts.at(-1)!)}`);
    if (index === HELD.at(-1)) await snapshot?.end();
  }
  await traffic.stop();
  const { handled, twice } = await node.ask<NodeEnd>('end');
  await node.kill();
  const { rows } = await client.query<{ all: number; left: number }>(
    `SELECT count(*)::int AS all,
            count(*) FILTER (WHERE due_at < now() - $1::int * interval '1 s')::int AS left
     FROM delay_queue.delay`,
    [LEFT_AFTER_S],
  );
  const { all, left } = rows[0]!;
  await client.end();
  await site.drop();
  const begun = (filled.rowCount ?? 0) + traffic.scheduled - traffic.cancelled;
  return { parts, twice, left, lost: begun - all - (handled - twice) };
}

const shown = (part: Part): string =>
  COLUMNS.map(({ title, of, digits }) => `${title} ${figure(of(part), digits)}`).join(', ');

async function pagesTouched(client: Client): Promise<number> {
  const { rows } = await client.query<{ pages: number }>(
    `SELECT (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 AS pages
     FROM pg_statio_user_tables WHERE schemaname = 'delay_queue' AND relname = 'delay'`,
  );
  return rows[0]?.pages ?? Number.NaN;
}

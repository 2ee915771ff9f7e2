import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { OURS, prepare } from './adapters/ours.js';
import { FILL, ITEMS } from './endurance/delays.js';
import type { NodeEnd, NodePart } from './endurance/node.js';
import { Traffic } from './endurance/traffic.js';
import { openSite } from './measure/site.js';
import { ForkedNode } from './endurance/forked-node.js';
import { percentile } from './report/statistics.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { type Bench, measured } from './run/scenario.js';
import { connect, holdSnapshot, numberOf } from './server/bench-server.js';
import { cpuSecondsOf } from './server/process-cpu.js';

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

interface TableState {
  bytes: number;
  indexBytes: number;
  deadRows: number;
  vacuums: number;
}

/** As the server's statistics have it: backends hand theirs in about once a second. */
const TABLE_STATE = `
  SELECT pg_relation_size(relid)::float8 AS bytes, pg_indexes_size(relid)::float8 AS "indexBytes",
         n_dead_tup::float8 AS "deadRows", (autovacuum_count + vacuum_count)::float8 AS vacuums
  FROM pg_stat_user_tables WHERE schemaname = 'delay_queue' AND relname = 'delay'`;

interface Part extends NodePart {
  table: TableState;
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
  { title: 'table MiB', of: ({ table }) => table.bytes / MEBIBYTE },
  { title: 'indexes MiB', of: ({ table }) => table.indexBytes / MEBIBYTE },
  { title: 'dead rows', of: ({ table }) => table.deadRows },
  { title: 'vacuums', of: ({ table }) => table.vacuums },
  { title: 'node MiB', of: ({ memoryMiB }) => memoryMiB },
];

/** Whether half an hour leaves anything behind: delays far ahead at a steady rate, and autovacuum as it comes. */
export async function run(bench: Bench): Promise<Table[]> {
  const { enduranceRate, enduranceSeconds, holdSnapshot: isHeld } = bench.settings;
  const [fromS, toS] = bench.settings.ahead;
  const results = await measured(bench, {
    name: 'endurance',
    title: '',
    notes: [],
    labels: {},
    variants: [{ title: isHeld ? 'a snapshot held' : 'no snapshot held' }],
    measure: () => measure(bench),
    columns: [
      { title: 'lost', of: ({ lost }) => lost },
      { title: 'twice', of: ({ twice }) => twice },
      { title: 'left', of: ({ left }) => left },
    ],
    expectedSeconds: () => enduranceSeconds + BEGINS_IN_S + WARM_UP_S,
  });
  const runs = results.flatMap(({ measurements }) => measurements);
  const all = (of: (run: Run) => number): string => runs.map(of).join(', ');
  return [
    {
      name: 'endurance',
      title: `${figure(enduranceRate)} delays scheduled per second for ${figure(enduranceSeconds)} s`,
      notes: [
        `${fromS} to ${toS} s ahead; a third is cancelled, half of the rest changes a row with its attempt; history on`,
        'the table begins as it is after such delays have come for ever; autovacuum as it comes',
        ...(isHeld ? ['a snapshot is held during the two parts in the middle'] : []),
        '"pages": of the table of delays and its indexes, by all statements; sizes at the end of each part',
        `lost: ${all((each) => each.lost)}; run twice: ${all((each) => each.twice)}; ` +
          `early: ${all((each) => each.parts.reduce((sum, { early }) => sum + early, 0))}; ` +
          `overdue by ${LEFT_AFTER_S} s at the end: ${all((each) => each.left)}`,
      ],
      columns: ['part', ...COLUMNS.map(({ title }) => title)],
      rows: Array.from({ length: PARTS }, (_, index) => [
        `${index + 1}${isHeld && HELD.includes(index) ? ', held' : ''}`,
        ...cellsOf(
          COLUMNS,
          runs.map(({ parts }) => parts[index]!),
        ),
      ]),
    },
  ];
}

async function measure(bench: Bench): Promise<Run> {
  const { enduranceRate, enduranceSeconds, holdSnapshot: isHeld } = bench.settings;
  const [fromS = 0, toS = 0] = bench.settings.ahead;
  const server = await bench.server();
  const site = await openSite(bench, OURS, 'endurance', prepare);
  const client = await connect(site.url);
  await client.query(ITEMS.create);
  const filled = await client.query(FILL, [enduranceRate, fromS, toS, BEGINS_IN_S]);
  const beginsAtMs = performance.now() + BEGINS_IN_S * 1_000;
  await client.query('VACUUM ANALYZE');

  // With room for what comes while a part is written down.
  const most = [enduranceRate * toS, enduranceRate * enduranceSeconds * 2];
  const node = await ForkedNode.start(NODE, [site.url, ...most]);
  const traffic = await Traffic.open(site.url, enduranceRate, { fromS, toS });
  await pause(beginsAtMs - performance.now());
  traffic.start();
  await pause(WARM_UP_S * 1_000);
  await node.ask('part');
  const parts: Part[] = [];
  let snapshot: Client | undefined;
  for (let index = 0; index < PARTS; index += 1) {
    if (isHeld && index === HELD.at(0)) snapshot = await holdSnapshot(site.url);
    const pages = await numberOf(client, PAGES_TOUCHED);
    const cpuSeconds = cpuSecondsOf(await server.cpuTime());
    await pause((enduranceSeconds * 1_000) / PARTS);
    const told = await node.ask<NodePart>('part');
    parts.push({
      ...told,
      table: (await client.query<TableState>(TABLE_STATE)).rows[0]!,
      pages: (await numberOf(client, PAGES_TOUCHED)) - pages,
      serverCpuSeconds: cpuSecondsOf(await server.cpuTime()) - cpuSeconds,
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

const PAGES_TOUCHED = `
  SELECT (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8
  FROM pg_statio_user_tables WHERE schemaname = 'delay_queue' AND relname = 'delay'`;

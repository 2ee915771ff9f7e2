import { setTimeout as pause } from 'node:timers/promises';
import { OURS_WITHOUT_HISTORY } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { BenchProcess } from './processes/bench-process.js';
import { type Percentiles, percentilesOf } from './report/statistics.js';
import { cellsOf, type Column, figure, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';
import { openSite } from './site.js';

interface Variant {
  title: string;
  /** Delays per second that another process schedules meanwhile. */
  ratePerSecond: number;
}

interface Commits extends Percentiles {
  count: number;
}

/** Between two commits: as many as a node at a few hundred delays per second has claims. */
const PAUSE_MS = 2;

const COLUMNS: readonly Column<Commits>[] = [
  { title: 'p50', of: (commits) => commits.p50Ms, digits: 2 },
  { title: 'p99', of: (commits) => commits.p99Ms, digits: 2 },
  { title: 'max', of: (commits) => commits.maxMs, digits: 1 },
  { title: 'commits', of: (commits) => commits.count },
];

/**
 * The floor under the lateness of every queue whose claim is on the disk before its handler begins:
 * one row, updated by its primary key, from the call to the answer.
 */
export async function run(bench: Bench): Promise<Table[]> {
  const { settings } = bench;
  const variants = [0, ...settings.ratesPerSecond].map((ratePerSecond) => ({
    title: `commit · beside ${figure(ratePerSecond)}/s`,
    ratePerSecond,
  }));
  const results = await interleaved(
    bench,
    variants,
    (variant) => measure(bench, variant),
    ({ p50Ms, p99Ms }) => `p50 ${figure(p50Ms, 2)} p99 ${figure(p99Ms, 2)} ms`,
  );
  return [
    {
      name: 'commit',
      title: `One durable commit in ms, for ${settings.seconds} s`,
      notes: [
        'one row updated by its primary key on an open connection, a prepared statement, one at a time',
        '"scheduled/s": delays that another process schedules meanwhile (ours); nobody claims any',
      ],
      columns: ['scheduled/s', ...COLUMNS.map(({ title }) => title)],
      rows: results.map(({ variant, measurements }) => [
        figure(variant.ratePerSecond),
        ...cellsOf(COLUMNS, measurements),
      ]),
    },
  ];
}

async function measure(bench: Bench, { ratePerSecond }: Variant): Promise<Commits> {
  const { seconds } = bench.settings;
  const adapter = OURS_WITHOUT_HISTORY;
  const site = await openSite(bench, adapter, 'commit', async (url) => {
    await adapter.prepare(url);
    const client = await connect(url);
    await client.query(
      'CREATE TABLE bare (id int PRIMARY KEY, n int); INSERT INTO bare VALUES (1)',
    );
    await client.end();
  });
  const producer =
    ratePerSecond === 0
      ? undefined
      : await BenchProcess.open({ role: 'producer', system: adapter.name, url: site.url });
  const produced = producer?.ask(
    { type: 'produce', count: ratePerSecond * seconds, ratePerSecond },
    'produced',
    (seconds + 60) * 1_000,
  );
  const tookMs = await commitFor(site.url, seconds * 1_000);
  await produced;
  await producer?.stop();
  await site.drop();
  return { ...percentilesOf(tookMs), count: tookMs.length };
}

/** @returns how long each commit took, in milliseconds */
async function commitFor(url: string, durationMs: number): Promise<number[]> {
  const client = await connect(url);
  const statement = { name: 'bare', text: 'UPDATE bare SET n = n + 1 WHERE id = 1' };
  await client.query(statement);
  const tookMs: number[] = [];
  const untilMs = performance.now() + durationMs;
  while (performance.now() < untilMs) {
    const askedAtMs = performance.now();
    await client.query(statement);
    tookMs.push(performance.now() - askedAtMs);
    await pause(PAUSE_MS);
  }
  await client.end();
  return tookMs;
}

import { setTimeout as pause } from 'node:timers/promises';
import { type Delay, OnDelay } from 'nestjs-delay-queue';
import type { Client } from 'pg';
import { fillDelays } from './adapters/ours.js';
import { Countdown, inThisProcess } from './measure/in-process.js';
import { type Column, figure, type Table } from './report/table.js';
import { type Percentiles, percentilesOf } from './report/statistics.js';
import { type Bench, compare, type Variant } from './run/scenario.js';

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
  const latenessMs: number[] = [];
  const small = new Countdown(SMALL);
  class Handler {
    @OnDelay('bench.run', { concurrency: 100 })
    async run(delay: Delay<'bench.run'>): Promise<void> {
      await pause(HANDLER_TAKES_MS);
      if (delay.payload.n < BIG) return;
      latenessMs.push(delay.latenessMs);
      small.count();
    }
  }
  const group = (name: string): string => (grouped ? `'${name}'` : 'NULL');
  const due = { dueFromMs: DUE_IN_MS, dueToMs: DUE_IN_MS };
  const later = { ...due, dueToMs: DUE_IN_MS + SMALL_WITHIN_MS };
  const fill = async (client: Client): Promise<void> => {
    await fillDelays(client, { first: 0, count: BIG, ...due }, { groupSql: group('big') });
    await fillDelays(client, { first: BIG, count: SMALL, ...later }, { groupSql: group('small') });
  };
  await inThisProcess(bench, fill, Handler, {}, async (start) => {
    await start();
    await small.reached;
  });
  return percentilesOf(latenessMs);
}

import type { Client } from 'pg';
import {
  bring,
  callersSettings,
  engineSettings,
  type SessionSettings,
} from '../src/delay-queue/database/connection-config.js';
import { tablesOf } from '../src/delay-queue/database/tables.js';
import { cancelWaitingSql } from '../src/delay-queue/store/sql/delays.sql.js';
import { claimSql } from '../src/delay-queue/store/sql/claim.sql.js';
import { completeSql } from '../src/delay-queue/store/sql/attempts.sql.js';
import { scheduleTakenSql } from '../src/delay-queue/store/sql/schedule.sql.js';
import { OURS_WITHOUT_HISTORY } from './adapters/ours.js';
import { type Bench, interleaved } from './bench.js';
import { median } from './report/statistics.js';
import { cellsOf, figure, type Table } from './report/table.js';
import { connect } from './server/bench-server.js';

interface Variant {
  title: string;
  /** What the table has behind it when a session makes its plans. */
  before: string;
  /** What happens to it when it is full, before anything is measured. */
  after: string;
}

/** A statement about rows number `from` to `from + many`. */
interface Statement {
  title: string;
  many: number;
  settings: SessionSettings;
  text: string;
  values: (from: number, many: number) => unknown[];
}

const tables = tablesOf('delay_queue');
const CALLERS_SETTINGS = callersSettings(15_000);
const NAME = 'bench.plan';

/** Executions of each statement, of which the median counts; each is taken back. */
const EXECUTIONS = 9;

const VARIANTS: readonly Variant[] = [
  { title: 'an empty table, no statistics', before: '', after: '' },
  { title: 'an empty table, by its statistics', before: 'ANALYZE delay_queue.delay', after: '' },
  { title: 'the full table', before: '', after: 'ANALYZE delay_queue.delay' },
  {
    title: 'the full table, a third moved',
    before: '',
    // A third of the rows lies elsewhere than its id would have it: to the planner each look-up is dearer.
    after: `
      WITH moved AS (DELETE FROM delay_queue.delay WHERE id % 3 = 0 RETURNING *)
      INSERT INTO delay_queue.delay OVERRIDING SYSTEM VALUE SELECT * FROM moved;
      ANALYZE delay_queue.delay`,
  },
];

const each = <Value>(from: number, many: number, value: (row: number) => Value): Value[] =>
  Array.from({ length: many }, (_, n) => value(from + n));
const constant = <Value>(many: number, value: Value): Value[] => each(0, many, () => value);
const keys = (from: number, many: number): [string[], string[]] => [
  constant(many, NAME),
  each(from, many, (row) => `key ${row}`),
];
const fences = (from: number, many: number): [number[], number[]] => [
  each(from, many, (row) => row),
  constant(many, 0),
];

const STATEMENTS: readonly Statement[] = [
  {
    title: 'claim',
    many: 500,
    settings: engineSettings(15_000),
    text: claimSql(tables, 'ends'),
    values: (from, many) => [
      ...fences(from, many),
      constant(many, 30_000),
      constant(many, 9),
      'bench',
      constant(many, false),
      0,
    ],
  },
  {
    title: 'complete',
    many: 500,
    settings: engineSettings(15_000),
    text: completeSql(tables, 'nothing'),
    values: (from, many) => [...fences(from, many), constant(many, 1)],
  },
  {
    title: 'cancel',
    many: 200,
    settings: CALLERS_SETTINGS,
    text: cancelWaitingSql(tables, 'nothing'),
    values: keys,
  },
  {
    title: 'replace',
    many: 200,
    settings: CALLERS_SETTINGS,
    text: scheduleTakenSql(tables, 'nothing', 'at once'),
    values: (from, many) => [
      ...keys(from, many),
      constant(many, '{}'),
      constant(many, 60_000),
      constant(many, null),
      constant(many, null),
      constant(many, 'replace'),
      constant(many, '{}'),
    ],
  },
];

/** What plans that sessions keep cost, by what the table looked like when they were made. */
export async function run(bench: Bench): Promise<Table[]> {
  const { count } = bench.settings;
  const results = await interleaved(
    bench,
    VARIANTS.map((variant) => ({ ...variant, title: `plans · ${variant.title}` })),
    (variant) => measure(bench, variant),
    (tookMs) => STATEMENTS.map(({ title }, n) => `${title} ${figure(tookMs[n] ?? 0, 1)}`).join(' '),
  );
  return [
    {
      title: 'A statement about many delays in ms, by what its kept plan was made for',
      notes: [
        `${figure(count)} delays when it is measured; median of ${EXECUTIONS} executions, each taken back`,
        ...STATEMENTS.map(({ title, many }) => `${title}: of ${many} delays`),
      ],
      columns: ['made for', ...STATEMENTS.map(({ title }) => title)],
      rows: results.map(({ measurements }, n) => [
        VARIANTS[n]?.title ?? '',
        ...cellsOf(
          STATEMENTS.map(({ title }, statement) => ({
            title,
            of: (tookMs: readonly number[]) => tookMs[statement] ?? Number.NaN,
            digits: 1,
          })),
          measurements,
        ),
      ]),
    },
  ];
}

/** @returns milliseconds of each statement */
async function measure(bench: Bench, { before, after }: Variant): Promise<number[]> {
  const server = await bench.server();
  const database = await server.database('empty', async () => {});
  await OURS_WITHOUT_HISTORY.prepare(database.url);
  const filler = await connect(database.url);
  // Nobody looks at the table in between and makes the plans anew.
  await filler.query(`ALTER TABLE ${tables.delay} SET (autovacuum_enabled = off); ${before}`);
  const sessions: Client[] = [];
  for (const statement of STATEMENTS) {
    const session = await connect(database.url);
    sessions.push(session);
    await bring(session, statement.settings);
    await execute(session, statement, 1, 1);
  }
  await fill(filler, bench.settings.count);
  if (after !== '') await filler.query(after);
  const tookMs: number[] = [];
  for (const [n, statement] of STATEMENTS.entries()) {
    const session = sessions[n] as Client;
    const times: number[] = [];
    // The first one makes the plan anew where there are new statistics.
    await execute(session, statement, 1, statement.many);
    for (let execution = 0; execution < EXECUTIONS; execution += 1) {
      times.push(await execute(session, statement, 1 + execution * statement.many, statement.many));
    }
    tookMs.push(median(times));
  }
  await Promise.all([filler, ...sessions].map((client) => client.end()));
  await database.drop();
  return tookMs;
}

/** @returns how long it took, without what rolls it back */
async function execute(
  session: Client,
  { title, text, values }: Statement,
  from: number,
  many: number,
): Promise<number> {
  await session.query('BEGIN');
  const askedAtMs = performance.now();
  await session.query({ name: title, text, values: values(from, many) });
  const tookMs = performance.now() - askedAtMs;
  await session.query('ROLLBACK');
  return tookMs;
}

async function fill(client: Client, count: number): Promise<void> {
  await client.query(
    `INSERT INTO ${tables.delay} (name, key, payload, due_at, wake_at, created_at)
     SELECT $1, 'key ' || n, '{}', due, due, due
     FROM generate_series(1, $2::int) AS n, LATERAL (SELECT now() - n * interval '1 ms') AS d(due)`,
    [NAME, count],
  );
}

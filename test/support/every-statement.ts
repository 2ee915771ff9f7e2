import { readdirSync } from 'node:fs';
import { matching, type RowFilter } from '../../src/delay-queue/core/store/filter.table.js';
import { Targets } from '../../src/delay-queue/core/store/sql/fragments/target-rows.js';
import { isGivenBack } from '../../src/delay-queue/core/store/sql/erase.sql.js';
import { cancelOneSql, scheduleOneSql } from '../../src/delay-queue/core/store/tables/functions.js';
import { type Tables, qualifiedTables } from '../../src/delay-queue/core/database/tables.js';

/** A statement, and the call that made it. */
export interface Statement {
  of: string;
  text: string;
}

const LIBRARY = new URL('../../src/delay-queue/', import.meta.url);
const KEPT = ['nothing', 'ends', 'attempts'];
const LOCK_WAITS = ['waits', 'a while', 'at once'];

const ANY = { key: 'k', keyPrefix: 'k', group: ['g', 'h'], groupPrefix: 'g', headers: '{}' };
const TIMES = { dueFrom: '2030-01-01', dueBefore: '2030-01-02' };
const EITHER = { ...ANY, ...TIMES, error: 'no', errorLine: 'no' };
const LIVE: RowFilter = { ...EITHER, id: ['1'], state: ['dead', 'running'], repeating: true };
const ENDED: RowFilter = {
  ...EITHER,
  state: ['completed'],
  endedFrom: '2030-01-01',
  endedBefore: '2031-01-01',
};

const liveFilters = ({ delay }: Tables, first: number): string[] => [
  matching(LIVE, first, { table: delay }).sql,
  matching({ name: ['a'], state: ['dead'], repeating: false, group: ['g'] }, first).sql,
];
const endedFilters = ({ history }: Tables, first: number): string[] => [
  matching(ENDED, first, { rows: 'ended', table: history }).sql,
  matching({ ...ENDED, name: ['a'] }, first, { rows: 'ended' }).sql,
];

/** What a viewer of the dashboard sees: all, or some names and groups. */
const SCOPES = (first: number): string[] => [
  'true',
  matching({ name: ['a'], group: ['g', 'h'] }, first).sql,
];

/** What an erase of a group asks of its permits. */
const PERMITS = (tables: Tables, first: number): string[] => [
  `${matching({ name: ['a'], group: ['g'] }, first).sql} AND ${isGivenBack(tables)}`,
];

/** A range of a search, whose own parameters are before those of its filter. */
const WAKES = `d.wake_at >= $5::timestamptz AND d.wake_at <= (SELECT now FROM clock)`;

/** What a statement's function is called with, behind the tables: the values of each parameter. */
type Choices = readonly (readonly unknown[])[];

/** A call that says who asks, and one that does not. It is the parameter behind all others. */
const BY = [undefined, '$BY::text'];

const TARGETS = [Targets.CALLS, Targets.KEYS, Targets.IDS];

/** Of those that take more than the tables. Whatever is missing here fails the walk. */
const CHOICES: Readonly<Record<string, Choices | ((tables: Tables) => Choices)>> = {
  aheadSql: [SCOPES(2)],
  askRerunSql: [LOCK_WAITS],
  bucketsSql: [SCOPES(4)],
  cancelSql: [KEPT, LOCK_WAITS, TARGETS, BY],
  cancelWaitingSql: [KEPT],
  claimExhaustedSql: [KEPT],
  claimLimitedSql: [KEPT],
  claimSql: [KEPT],
  completeSql: [KEPT, [false, true]],
  countUpToSql: (tables) => [['delay'], liveFilters(tables, 2)],
  countEndedSql: (tables) => [endedFilters(tables, 1)],
  countByStateSql: (tables) => [liveFilters(tables, 2)],
  countWalkedSql: (tables) => [
    ['wake'],
    [{ range: WAKES, where: liveFilters(tables, 6).join(' AND ') }],
  ],
  countSql: (tables) => [liveFilters(tables, 1)],
  deadSql: [SCOPES(3), ['name', 'kind']],
  declareSql: [KEPT],
  discardDeadSql: [KEPT, LOCK_WAITS, TARGETS, BY],
  dueSql: [SCOPES(3)],
  countErasedSql: (tables) => [['permit'], PERMITS(tables, 1)],
  eraseHistorySql: (tables) => [endedFilters(tables, 5), ['found', 'walked']],
  eraseSql: (tables) => [['permit'], PERMITS(tables, 2)],
  endedSql: (tables) => [endedFilters(tables, 5)],
  endsSql: [SCOPES(3)],
  explainSql: [['key', 'id']],
  forgetSql: [['node', 'abort', 'pause', 'quota']],
  groupStatsSql: (tables) => [liveFilters(tables, 2), ['total', 'overdue', 'oldestOverdueMs']],
  idsSql: (tables) => [liveFilters(tables, 3)],
  limitsSql: [SCOPES(2)],
  listSql: (tables) => [liveFilters(tables, 4), ['read', 'unread']],
  loadSql: [[false, true]],
  moveOnSql: [KEPT, LOCK_WAITS],
  namesInScopeSql: [SCOPES(2)],
  passOnSql: [KEPT],
  pauseSql: [LOCK_WAITS],
  recurSql: [KEPT, [false, true]],
  removeAllSql: [KEPT],
  removeOneSql: [KEPT],
  rerunSql: [KEPT],
  rescheduleSql: [LOCK_WAITS, TARGETS, BY],
  resumeSql: [LOCK_WAITS],
  retryDeadSql: [LOCK_WAITS, TARGETS, BY],
  retrySql: [KEPT],
  runNowSql: [LOCK_WAITS, TARGETS, BY],
  scheduleAllNewSql: [['usual', 'all', 'recurring']],
  scheduleKeylessSql: [['usual', 'all', 'recurring']],
  scheduleNewSql: [LOCK_WAITS, ['usual', 'all', 'recurring']],
  scheduleTakenSql: [KEPT, LOCK_WAITS, ['each', 'all or none'], ['when', 'how it recurs']],
  searchSql: [['wake', 'dead', 'ended'], ['walk', 'few'], [{ range: 'true', where: 'true' }]],
  sweepSql: [[false, true]],
  walkEndSql: [['wake', 'dead', 'ended'], ['true']],
  withdrawSql: [KEPT],
};

/** Of all files of statements, and the calls of our functions, with the clock of the database and with that of tests. */
export async function everyStatement(schema = 'delay_queue'): Promise<Statement[]> {
  const found: Statement[] = [];
  const unused = new Set(Object.keys(CHOICES));
  for (const [name, make] of await statementFunctions()) {
    unused.delete(name);
    for (const clock of ['database', 'test'] as const) {
      const tables = qualifiedTables({ schema, clock });
      const given = CHOICES[name];
      const choices = typeof given === 'function' ? given(tables) : (given ?? []);
      // Optional parameters are not counted: what has them and is not in the list shows by its chunks.
      if (make.length > choices.length + 1) {
        throw new Error(`${name} takes more than the tables: say in CHOICES what`);
      }
      for (const chosen of combined(choices)) {
        const of = `${name}(${[clock, ...chosen.map(shown)].join(', ')})`;
        found.push({ of, text: numbered(make(tables, ...chosen)) });
      }
    }
  }
  if (unused.size > 0) throw new Error(`CHOICES names no statement: ${[...unused].join(', ')}`);
  return found;
}

function numbered(text: string): string {
  const last = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  return text.replaceAll('$BY', `$${last + 1}`);
}

type Make = (tables: Tables, ...chosen: unknown[]) => string;

async function statementFunctions(): Promise<[name: string, make: Make][]> {
  const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' });
  const found: [string, Make][] = [
    ['scheduleOneSql', scheduleOneSql],
    ['cancelOneSql', cancelOneSql],
  ];
  for (const file of files.filter((name) => name.endsWith('.sql.ts')).toSorted()) {
    const exported = (await import(new URL(file, LIBRARY).href)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(exported)) {
      if (name.endsWith('Sql') && typeof value === 'function') found.push([name, value as Make]);
    }
  }
  return found;
}

const combined = (choices: Choices): unknown[][] =>
  choices.reduce<unknown[][]>(
    (all, values) => all.flatMap((chosen) => values.map((value) => [...chosen, value])),
    [[]],
  );

function shown(value: unknown): string {
  if (value instanceof Targets)
    return ['CALLS', 'KEYS', 'IDS'][TARGETS.indexOf(value)] ?? 'targets';
  return String(value).length > 20 ? 'filter' : String(value);
}

import type { Runner } from '../../database/runner.js';
import { type Installation, type Tables, tablesOf } from '../../database/tables.js';
import { type Answer, reader, type RowOf } from '../../store/rows/columns.js';
import { matching, type RowFilter } from '../../store/sql/fragments/filter.js';
import {
  AHEAD,
  aheadSql,
  BUCKET,
  type BucketRow,
  bucketsSql,
  DEAD,
  type DeadRow,
  deadSql,
  DUE,
  type DueRow,
  dueSql,
  ENDS,
  type EndsRow,
  endsSql,
  ESTIMATE,
  estimatesSql,
  LIMIT,
  type LimitRow,
  limitsSql,
  NAME_COUNT,
  namesInScopeSql,
  namesSql,
  nodeSeen,
  type NodeSeenRow,
  nodesSeenSql,
} from './overview.sql.js';

/** What a viewer may see; empty: all. */
export type Scope = Pick<RowFilter, 'names' | 'groups'>;

/** Wakes that have passed, and wakes to come, that one look reads. */
export const WAKES_READ_MAX = 10_000;
export const DEAD_READ_MAX = 10_000;
export const ENDS_READ_MAX = 20_000;
const DAY_MS = 86_400_000;

const NAMES_MAX = 1_000;
const NODES_MAX = 200;
const LIMITS_MAX = 200;

/** Rows by name, and how many rows of the table were read for them. */
export interface Read<Row> {
  rows: Row[];
  read: number;
}

const isNamed = ({ name }: { name: string | null }): boolean => name !== null;

/** There is always a row, which has no name if nothing was counted. */
function readOf<Row extends { name: string; read: number }>(rows: readonly Row[]): Read<Row> {
  return { rows: rows.filter(isNamed), read: rows[0]?.read ?? 0 };
}

/** Counts for the dashboard's overview; each statement reads a limited number of rows. */
export class OverviewStore {
  readonly #tables: Tables;

  constructor(of: Installation) {
    this.#tables = tablesOf(of);
  }

  async buckets(
    runner: Runner,
    scope: Scope,
    { count, stepMs, readMax }: { count: number; stepMs: number; readMax: number },
  ): Promise<BucketRow[]> {
    const { sql, parameters } = matching(scope, 4);
    const given = [count, stepMs, readMax, ...parameters];
    const rows = await runner.query<Answer>(bucketsSql(this.#tables, sql), given);
    return rows.map(reader(BUCKET));
  }

  async due(runner: Runner, scope: Scope, aliveMs: number): Promise<Read<DueRow>> {
    const { sql, parameters } = matching(scope, 3);
    const given = [aliveMs, WAKES_READ_MAX, ...parameters];
    const rows = await runner.query<Answer>(dueSql(this.#tables, sql), given);
    return readOf(rows.map(reader(DUE)));
  }

  async ahead(runner: Runner, scope: Scope): Promise<Read<RowOf<typeof AHEAD>>> {
    const { sql, parameters } = matching(scope, 2);
    const given = [WAKES_READ_MAX, ...parameters];
    const rows = await runner.query<Answer>(aheadSql(this.#tables, sql), given);
    return readOf(rows.map(reader(AHEAD)));
  }

  /** Groups of dead letters that failed alike. */
  async dead(
    runner: Runner,
    scope: Scope,
    groupsMax: number,
    by: 'name' | 'kind',
  ): Promise<Read<DeadRow>> {
    const { sql, parameters } = matching(scope, 3);
    const given = [DEAD_READ_MAX, groupsMax, ...parameters];
    const rows = await runner.query<Answer>(deadSql(this.#tables, sql, by), given);
    return readOf(rows.map(reader(DEAD)));
  }

  /** What ended within a day. */
  async ends(runner: Runner, scope: Scope): Promise<Read<EndsRow> & { sinceMs: number | null }> {
    const { sql, parameters } = matching(scope, 3);
    const given = [DAY_MS, ENDS_READ_MAX, ...parameters];
    const rows = (await runner.query<Answer>(endsSql(this.#tables, sql), given)).map(reader(ENDS));
    return { ...readOf(rows), sinceMs: rows[0]?.sinceMs ?? null };
  }

  async nodes(runner: Runner, aliveMs: number): Promise<NodeSeenRow[]> {
    const given = [aliveMs, WAKES_READ_MAX, NODES_MAX];
    const rows = await runner.query<Answer>(nodesSeenSql(this.#tables), given);
    return rows.map(reader(nodeSeen(this.#tables)));
  }

  async limits(runner: Runner, scope: Scope): Promise<LimitRow[]> {
    const { sql, parameters } = matching(scope, 2);
    const given = [LIMITS_MAX, ...parameters];
    return (await runner.query<Answer>(limitsSql(this.#tables, sql), given)).map(reader(LIMIT));
  }

  /** By name; names that are not common have none. */
  async estimates(runner: Runner): Promise<Map<string, number>> {
    const rows = await runner.query<Answer>(estimatesSql(), [this.#tables.delay]);
    return new Map(rows.map(reader(ESTIMATE)).map(({ name, count }) => [name, count]));
  }

  async namesInScope(runner: Runner, scope: Scope): Promise<Read<RowOf<typeof NAME_COUNT>>> {
    const { sql, parameters } = matching(scope, 2);
    const given = [WAKES_READ_MAX, ...parameters];
    const rows = await runner.query<Answer>(namesInScopeSql(this.#tables, sql), given);
    return readOf(rows.map(reader(NAME_COUNT)));
  }

  /** Those that anything in the database names, delays without a key aside. */
  async names(runner: Runner): Promise<string[]> {
    const rows = await runner.query<{ name: string }>(namesSql(this.#tables), [NAMES_MAX]);
    return rows.map(({ name }) => name);
  }
}

import {
  type Installation,
  matching,
  qualifiedTables,
  reader,
  type RowFilter,
  type Runner,
  type Tables,
  type TextAnswer,
} from '../../core/ops.js';
import * as overview from './overview.sql.js';

/** What a viewer may see; empty: all. */
export type Scope = Pick<RowFilter, 'name' | 'group'>;

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
const asRead = <Row extends { name: string; read: number }>(rows: readonly Row[]): Read<Row> => ({
  rows: rows.filter(isNamed),
  read: rows[0]?.read ?? 0,
});

/** Counts for the dashboard's overview; each statement reads a limited number of rows. */
export class OverviewStore {
  readonly #tables: Tables;

  constructor(of: Installation) {
    this.#tables = qualifiedTables(of);
  }

  buckets(
    runner: Runner,
    scope: Scope,
    { count, stepMs, readMax }: { count: number; stepMs: number; readMax: number },
  ) {
    const given = [count, stepMs, readMax];
    return this.#scoped(runner, scope, overview.bucketsSql, given, reader(overview.BUCKET));
  }

  async due(runner: Runner, scope: Scope, aliveMs: number) {
    const given = [aliveMs, WAKES_READ_MAX];
    return asRead(await this.#scoped(runner, scope, overview.dueSql, given, reader(overview.DUE)));
  }

  async ahead(runner: Runner, scope: Scope) {
    const { aheadSql, AHEAD } = overview;
    return asRead(await this.#scoped(runner, scope, aheadSql, [WAKES_READ_MAX], reader(AHEAD)));
  }

  /** Groups of dead letters that failed alike. */
  async dead(runner: Runner, scope: Scope, groupsMax: number, by: 'name' | 'kind') {
    const sql = (tables: Tables, where: string): string => overview.deadSql(tables, where, by);
    const given = [DEAD_READ_MAX, groupsMax];
    return asRead(await this.#scoped(runner, scope, sql, given, reader(overview.DEAD)));
  }

  /** What ended within a day. */
  async ends(runner: Runner, scope: Scope) {
    const given = [DAY_MS, ENDS_READ_MAX];
    const rows = await this.#scoped(runner, scope, overview.endsSql, given, reader(overview.ENDS));
    return { ...asRead(rows), sinceMs: rows[0]?.sinceMs ?? null };
  }

  async nodes(runner: Runner, aliveMs: number) {
    const given = [aliveMs, WAKES_READ_MAX, NODES_MAX];
    const rows = await runner.query<TextAnswer>(overview.nodesSeenSql(this.#tables), given);
    return rows.map(reader(overview.nodeSeen(this.#tables)));
  }

  limits(runner: Runner, scope: Scope) {
    const { limitsSql, LIMIT } = overview;
    return this.#scoped(runner, scope, limitsSql, [LIMITS_MAX], reader(LIMIT));
  }

  /** By name; names that are not common have none. */
  async estimates(runner: Runner): Promise<Map<string, number>> {
    const given = [this.#tables.delay];
    const rows = await runner.query<TextAnswer>(overview.estimatesSql(), given);
    return new Map(rows.map(reader(overview.ESTIMATE)).map(({ name, count }) => [name, count]));
  }

  async namesInScope(runner: Runner, scope: Scope) {
    const { namesInScopeSql: sql, NAME_COUNT } = overview;
    return asRead(await this.#scoped(runner, scope, sql, [WAKES_READ_MAX], reader(NAME_COUNT)));
  }

  /** Those that anything in the database names, delays without a key aside. */
  async names(runner: Runner): Promise<string[]> {
    const text = overview.namesSql(this.#tables);
    const rows = await runner.query<{ name: string }>(text, [NAMES_MAX]);
    return rows.map(({ name }) => name);
  }

  /** The parameters of the scope come last. */
  async #scoped<Row>(
    runner: Runner,
    scope: Scope,
    statement: (tables: Tables, where: string) => string,
    given: readonly unknown[],
    read: (answer: TextAnswer) => Row,
  ): Promise<Row[]> {
    const { sql, parameters } = matching(scope, given.length + 1);
    const text = statement(this.#tables, sql);
    const rows = await runner.query<TextAnswer>(text, [...given, ...parameters]);
    return rows.map(read);
  }
}

/** What one of its counts finds. */
export type Found<Count extends keyof OverviewStore> = Awaited<ReturnType<OverviewStore[Count]>>;

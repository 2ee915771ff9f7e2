import type { ChangedDelay } from '../api/selection.js';
import { tablesOf } from '../database/tables.js';
import { type Answer, reader, type RowOf } from '../store/rows/columns.js';
import { NO_KEY, numbers, texts } from '../store/rows/delay-rows.js';
import {
  advanceOperationSql,
  CHANGE,
  endOperationSql,
  keepOperationsSql,
  openOperationSql,
  operationChangesSql,
  operationOf,
  type OperationRow,
  operationsOfKeySql,
  operationsSql,
  stopOperationSql,
} from './store/operations.sql.js';
import type { Count, OperationAction, OperationLine } from './contract.js';
import type { DashboardDatabase } from './dashboard-database.js';
import { notFound, Refusal } from './exchange.js';
import type { Rights } from './rights.js';

/** An operation before it is written down. */
export interface NewOperation {
  action: OperationAction;
  who: string;
  why: string | null;
  /** Without a payload. */
  asked: object;
  scope: OperationLine['scope'];
}

/** Whose operations are meant. */
type Viewer = Pick<Rights, 'who' | 'names' | 'groups' | 'seesAll'>;

const ownOf = ({ who, names, groups, seesAll }: Viewer): string | null =>
  seesAll ? null : JSON.stringify({ who, names, groups });

export type Counts = Record<string, number>;

/** Each time, another one has begun in the same microsecond. */
const OPEN_TRIES = 20;

/** `behind` this one; the newest has the greatest. */
const NEWEST = String(Number.MAX_SAFE_INTEGER);

/** The operations of all processes, as the database has them. */
export class OperationLog {
  readonly #sql;
  readonly #row: (answer: Answer) => OperationRow;

  constructor(private readonly database: DashboardDatabase) {
    const tables = tablesOf(database.options.installation);
    this.#sql = {
      open: openOperationSql(tables),
      advance: advanceOperationSql(tables),
      end: endOperationSql(tables),
      keep: keepOperationsSql(tables),
      stop: stopOperationSql(tables),
      page: operationsSql(tables),
      ofKey: operationsOfKeySql(tables),
      changes: operationChangesSql(tables),
    };
    this.#row = reader(operationOf(tables));
  }

  async open({ action, who, why, asked, scope }: NewOperation): Promise<OperationLine> {
    const { nodeName } = this.database.options;
    const parameters = [
      action,
      who,
      nodeName,
      why,
      JSON.stringify(asked),
      '{}',
      JSON.stringify(scope),
    ];
    for (let tries = 1; tries <= OPEN_TRIES; tries += 1) {
      const [row] = await this.database.write<Answer>(this.#sql.open, parameters);
      if (row !== undefined) return lineOf(this.#row(row));
    }
    throw new Refusal('busy', 'Others begin operations at the same time. Try again.');
  }

  /** @param listed how many changes it has already */
  advance(
    id: string,
    counts: Counts,
    expected: Count | null,
    listed: number,
    changed: readonly ChangedDelay[],
  ): Promise<OperationLine> {
    return this.#write(this.#sql.advance, [
      id,
      JSON.stringify(counts),
      expected?.count ?? null,
      expected?.is ?? null,
      listed,
      numbers(changed.map((one) => Number(one.id))),
      texts(changed.map(({ name }) => name)),
      texts(changed.map(({ key }) => key ?? NO_KEY)),
      texts(changed.map(({ verdict }) => verdict)),
    ]);
  }

  end(
    id: string,
    as: 'done' | 'stopped' | 'failed',
    counts: Counts,
    error: string | null,
  ): Promise<OperationLine> {
    return this.#write(this.#sql.end, [id, as, JSON.stringify(counts), error]);
  }

  /** Says that they go on. @returns those that are to stop */
  async keep(ids: readonly string[]): Promise<string[]> {
    const rows = await this.database.write<{ id: string }>(this.#sql.keep, [texts(ids)]);
    return rows.map(({ id }) => id);
  }

  /** @throws Refusal */
  stop(id: string): Promise<OperationLine> {
    return this.#write(this.#sql.stop, [id]);
  }

  /** Newest first, of those that a viewer may see. */
  page(viewer: Viewer, limit: number, behind = NEWEST): Promise<OperationLine[]> {
    return this.#read(this.#sql.page, [ownOf(viewer), behind, limit]);
  }

  /** Those that have changed a delay of the key, newest first. */
  ofKey(viewer: Viewer, key: string, limit: number): Promise<OperationLine[]> {
    return this.#read(this.#sql.ofKey, [ownOf(viewer), key, limit]);
  }

  async find(viewer: Viewer, id: string): Promise<OperationLine> {
    const [line] = await this.page(viewer, 1, String(Number(id) + 1));
    if (line?.id !== id) throw notFound();
    return line;
  }

  async changes(id: string, behind: number, limit: number): Promise<RowOf<typeof CHANGE>[]> {
    const rows = await this.database.look((look) =>
      look.query<Answer>(this.#sql.changes, [id, behind, limit]),
    );
    return rows.map(reader(CHANGE));
  }

  async #read(sql: string, parameters: unknown[]): Promise<OperationLine[]> {
    const rows = await this.database.look((look) => look.query<Answer>(sql, parameters));
    return rows.map((row) => lineOf(this.#row(row)));
  }

  async #write(sql: string, parameters: unknown[]): Promise<OperationLine> {
    const [row] = await this.database.write<Answer>(sql, parameters);
    if (row === undefined) throw notFound();
    return lineOf(this.#row(row));
  }
}

const lineOf = ({
  asked,
  scope,
  counts,
  expected,
  expectedIs,
  ...row
}: OperationRow): OperationLine => ({
  id: row.id,
  action: row.action as OperationAction,
  who: row.who,
  why: row.why,
  order: JSON.parse(asked) as Record<string, unknown>,
  scope: JSON.parse(scope) as OperationLine['scope'],
  startedAt: new Date(row.startedMs).toISOString(),
  endedAt: row.endedMs === null ? null : new Date(row.endedMs).toISOString(),
  state: row.state,
  counts: JSON.parse(counts) as Counts,
  expected: expected === null || expectedIs === null ? null : { count: expected, is: expectedIs },
  error: row.error,
  node: row.node,
});

import type { ChangedDelay } from '../core/index.js';
import {
  type TextAnswer,
  NO_KEY,
  numbers,
  reader,
  type RowOf,
  qualifiedTables,
  type Tables,
  texts,
} from '../core/ops.js';
import * as statements from './store/operations.sql.js';
import type { Count, OperationAction, OperationLine } from './contract.js';
import type { DashboardDatabase } from './dashboard-database.js';
import { notFound, Refusal } from './exchange.js';
import type { Rights } from './rights.js';

export interface NewOperation {
  action: OperationAction;
  who: string;
  why: string | null;
  /** Without a payload. */
  asked: object;
  scope: OperationLine['scope'];
}

type Viewer = Pick<Rights, 'who' | 'names' | 'groups' | 'seesAll'>;

const ownScopeJson = ({ who, names, groups, seesAll }: Viewer): string | null =>
  seesAll ? null : JSON.stringify({ who, names, groups });

export type Counts = Record<string, number>;

/** Each retry means that another operation began in the same microsecond. */
const OPEN_TRIES = 20;

/** `behind` this one; the newest has the greatest. */
const NEWEST = String(Number.MAX_SAFE_INTEGER);

/** The operations of all processes, as the database has them. */
export class OperationLog {
  readonly #tables: Tables;
  readonly #row: (answer: TextAnswer) => statements.OperationRow;

  constructor(private readonly database: DashboardDatabase) {
    const tables = qualifiedTables(database.options.installation);
    this.#tables = tables;
    this.#row = reader(statements.operationColumns(tables));
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
      const [row] = await this.database.write<TextAnswer>(
        statements.openOperationSql(this.#tables),
        parameters,
      );
      if (row !== undefined) return operationLine(this.#row(row));
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
    return this.#write(statements.advanceOperationSql(this.#tables), [
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
    return this.#write(statements.endOperationSql(this.#tables), [
      id,
      as,
      JSON.stringify(counts),
      error,
    ]);
  }

  /** Reports that they are still running. @returns those that should stop */
  async keep(ids: readonly string[]): Promise<string[]> {
    const rows = await this.database.write<{ id: string }>(
      statements.keepOperationsSql(this.#tables),
      [texts(ids)],
    );
    return rows.map(({ id }) => id);
  }

  stop(id: string): Promise<OperationLine> {
    return this.#write(statements.stopOperationSql(this.#tables), [id]);
  }

  /** Newest first, of those that a viewer may see. */
  page(viewer: Viewer, limit: number, behind = NEWEST): Promise<OperationLine[]> {
    return this.#read(statements.operationsSql(this.#tables), [
      ownScopeJson(viewer),
      behind,
      limit,
    ]);
  }

  /** Those that have changed a delay of the key, newest first. */
  ofKey(viewer: Viewer, key: string, limit: number): Promise<OperationLine[]> {
    return this.#read(statements.operationsOfKeySql(this.#tables), [
      ownScopeJson(viewer),
      key,
      limit,
    ]);
  }

  async find(viewer: Viewer, id: string): Promise<OperationLine> {
    const [line] = await this.page(viewer, 1, String(Number(id) + 1));
    if (line?.id !== id) throw notFound();
    return line;
  }

  async changes(
    id: string,
    behind: number,
    limit: number,
  ): Promise<RowOf<typeof statements.CHANGE>[]> {
    const rows = await this.database.look((look) =>
      look.query<TextAnswer>(statements.operationChangesSql(this.#tables), [id, behind, limit]),
    );
    return rows.map(reader(statements.CHANGE));
  }

  async #read(sql: string, parameters: unknown[]): Promise<OperationLine[]> {
    const rows = await this.database.look((look) => look.query<TextAnswer>(sql, parameters));
    return rows.map((row) => operationLine(this.#row(row)));
  }

  async #write(sql: string, parameters: unknown[]): Promise<OperationLine> {
    const [row] = await this.database.write<TextAnswer>(sql, parameters);
    if (row === undefined) throw notFound();
    return operationLine(this.#row(row));
  }
}

const operationLine = ({
  expected,
  expectedIs,
  ...row
}: statements.OperationRow): OperationLine => ({
  ...row,
  action: row.action as OperationAction,
  order: JSON.parse(row.order) as OperationLine['order'],
  scope: JSON.parse(row.scope) as OperationLine['scope'],
  counts: JSON.parse(row.counts) as Counts,
  expected: expected === null || expectedIs === null ? null : { count: expected, is: expectedIs },
});

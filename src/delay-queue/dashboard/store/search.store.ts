import { readSqlState } from '../../core/diagnosis.js';
import { DelayInvalidError, type DelayRecord } from '../../core/index.js';
import {
  type TextAnswer,
  type CountAnswer,
  ENDED,
  given,
  type Installation,
  matching,
  toNumber,
  reader,
  type RowFilter,
  type Runner,
  type Tables,
  qualifiedTables,
  walkBounds,
} from '../../core/ops.js';
import {
  countUpToSql,
  countWalkedSql,
  isNameSql,
  ORDERS,
  type SearchOrder,
  searchSql,
  type SearchWay,
  walkEndSql,
} from './search.sql.js';

/**
 * Rows that one page of a walk reads: up to 0.2 s in a table of ten million that is stored in a different order.
 */
export const WALK_ROWS_MAX = 20_000;

/** Up to this many rows are sorted rather than walked to. */
export const FEW_ROWS_MAX = 10_000;

/** A search in one order, one way. */
export interface Search {
  order: SearchOrder;
  way: SearchWay;
  filter: RowFilter;
  /** A further condition on row `d`; without parameters. */
  and?: string;
}

/** A row, and its position in the order; `row` is null for a live delay. */
export interface Hit {
  id: string;
  position: string;
  row: DelayRecord | null;
}

/** The position before all rows, per order. */
const BEGINNINGS: Readonly<Record<SearchOrder, string>> = {
  wake: '-infinity,0',
  dead: 'infinity,9223372036854775807',
  ended: 'infinity,0,0',
};

/** Finds delays page by page, and never reads the whole table. */
export class SearchStore {
  readonly #tables: Tables;

  constructor(of: Installation) {
    this.#tables = qualifiedTables(of);
  }

  /** @param behind a position; undefined: from the beginning */
  async page(
    runner: Runner,
    search: Search,
    { behind, limit }: { behind: string | undefined; limit: number },
  ): Promise<Hit[]> {
    const { order, way } = search;
    const position = positionIn(order, behind);
    const { parameters, ...conditions } = this.#conditions(search, position.length + 3);
    const most = way === 'walk' ? WALK_ROWS_MAX : FEW_ROWS_MAX;
    const sql = searchSql(this.#tables, order, way, conditions);
    const answers = await runner
      .query<TextAnswer>(sql, [...position, limit, most, ...parameters])
      .catch((error: unknown) => {
        throw behind !== undefined && isDataError(error) ? notAPage() : error;
      });
    const readEnded = order === 'ended' ? reader(ENDED) : () => null;
    return answers.map((answer) => ({
      id: String(answer['id']),
      position: String(answer['position']),
      row: readEnded(answer),
    }));
  }

  /** @returns the position that a walk's page has read to; undefined: to the end */
  async walkEnd(
    runner: Runner,
    { order, filter }: Search,
    behind: string | undefined,
  ): Promise<string | undefined> {
    const position = positionIn(order, behind);
    const range = orderRange(order, filter, position.length + 3);
    const [answer] = await runner.query<{ position: string }>(
      walkEndSql(this.#tables, order, range.sql),
      [...position, WALK_ROWS_MAX - 1, 1, ...range.parameters],
    );
    return answer?.position;
  }

  /** How many match; `isAll`: none was left unread. */
  async count(runner: Runner, search: Search): Promise<{ matched: number; isAll: boolean }> {
    const { order, way } = search;
    if (way === 'few') {
      const { range, where, parameters } = this.#conditions(search, 2);
      const { table, within } = ORDERS[order];
      const sql = `${within} AND ${range} AND ${where}`;
      return { matched: await this.#upTo(runner, table, sql, parameters), isAll: true };
    }
    const position = positionIn(order, undefined);
    const { parameters, ...conditions } = this.#conditions(search, position.length + 3);
    const [answer] = await runner.query<{ matched: string; read: string }>(
      countWalkedSql(this.#tables, order, conditions),
      [...position, 0, WALK_ROWS_MAX, ...parameters],
    );
    const { matched, read } = given(answer);
    return { matched: toNumber(matched), isAll: toNumber(read) < WALK_ROWS_MAX };
  }

  /** Whether an index leads to all rows of the filter, and these are few. */
  async areFew(
    runner: Runner,
    table: 'delay' | 'history',
    filter: RowFilter,
    and = 'true',
  ): Promise<boolean> {
    const { sql, parameters } = this.#where(table, filter, 2);
    const found = await this.#upTo(runner, table, `${sql} AND ${and}`, parameters);
    return found < FEW_ROWS_MAX;
  }

  async exists(runner: Runner, table: 'delay' | 'history', filter: RowFilter): Promise<boolean> {
    const { sql, parameters } = this.#where(table, filter, 2);
    return (await this.#upTo(runner, table, sql, parameters, 1)) > 0;
  }

  /** Whether a node, a pause, a limit, or a delay with a key has that name. */
  async isName(runner: Runner, name: string): Promise<boolean> {
    return (await runner.query(isNameSql(this.#tables), [name])).length > 0;
  }

  async #upTo(
    runner: Runner,
    table: 'delay' | 'history',
    where: string,
    parameters: readonly string[],
    most = FEW_ROWS_MAX,
  ): Promise<number> {
    const [answer] = await runner.query<CountAnswer>(countUpToSql(this.#tables, table, where), [
      most,
      ...parameters,
    ]);
    return toNumber(given(answer).count);
  }

  #conditions({ order, filter, and = 'true' }: Search, first: number) {
    const range = orderRange(order, filter, first);
    const { table } = ORDERS[order];
    const { sql, parameters } = this.#where(table, filter, first + range.parameters.length);
    return {
      range: range.sql,
      where: `${sql} AND ${and}`,
      parameters: [...range.parameters, ...parameters],
    };
  }

  #where(
    table: 'delay' | 'history',
    filter: RowFilter,
    first: number,
  ): { sql: string; parameters: string[] } {
    const rows = table === 'delay' ? 'live' : 'ended';
    return matching(filter, first, { rows, table: this.#tables[table] });
  }
}

const notAPage = (): DelayInvalidError =>
  new DelayInvalidError('after', 'must be the `next` of a page');

/** A value outside its type. The filter's own parameters have been checked already. */
const isDataError = (error: unknown): boolean => readSqlState(error)?.startsWith('22') ?? false;

function positionIn(order: SearchOrder, behind: string | undefined): string[] {
  const parts = (behind ?? BEGINNINGS[order]).split(',');
  if (parts.length === ORDERS[order].columns.length) return parts;
  throw notAPage();
}

/** Where in the order the rows of the filter are. */
function orderRange(order: SearchOrder, filter: RowFilter, first: number) {
  if (order === 'dead') return { sql: 'true', parameters: [] };
  if (order === 'ended') return walkBounds(filter, first, 'ended_at');
  const { sql, parameters } = walkBounds(filter, first, 'wake_at');
  const isRunning = filter.state?.join() === 'running';
  const isAlive = filter.state?.includes('dead') === false;
  return {
    sql: `${sql}${isRunning ? ' AND d.wake_at <= (SELECT now FROM clock)' : ''}${isAlive ? " AND d.wake_at < 'infinity'" : ''}`,
    parameters,
  };
}

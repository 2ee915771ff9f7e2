import type { LiveState } from '../api/delay.js';
import type { GroupOrder } from '../api/selection.js';
import { byPurpose } from '../database/prepared-statements.js';
import { given, type Runner } from '../database/runner.js';
import { type Installation, type Tables, tablesOf } from '../database/tables.js';
import { type CountAnswer, type IdAnswer, idOf } from './rows/answers.js';
import { type Answer, numberOf, reader, type RowOf } from './rows/columns.js';
import { explained, type ExplainedRow, explainSql } from './sql/explain.sql.js';
import {
  countByStateSql,
  countSql,
  idsSql,
  listed,
  type ListedRow,
  listSql,
} from './sql/delays.sql.js';
import {
  anyNameOf,
  type AnyRowFilter,
  type EndedFilter,
  matching,
  matchingEnded,
  type RowFilter,
} from './sql/fragments/filter.js';
import {
  countEndedSql,
  ENDED,
  type EndedPosition,
  type EndedRow,
  endedSql,
  POSITION,
} from './sql/history.sql.js';
import {
  groupStatsSql,
  type NameStatsRow,
  nameStatsSql,
  type NodeStatsRow,
  nodeStatsSql,
  OF_GROUP,
  OF_NAME,
  ofNode,
} from './sql/stats.sql.js';

/** The texts of a statement that has several: each is built at its first use. */
export function textsOf<Choices extends (string | undefined)[]>(
  purpose: string,
  build: (...choices: Choices) => string,
): (...choices: Choices) => string {
  const texts = new Map<string, string>();
  return (...choices) => {
    const chosen = choices.join();
    let text = texts.get(chosen);
    if (text === undefined) {
      text = build(...choices);
      texts.set(chosen, text);
      byPurpose({ [purpose]: text });
    }
    return text;
  };
}

/** How a statement waits for a row in that transaction: ours may not take for ever. */
export const waitOf = (transaction: Runner['transaction']): 'waits' | 'a while' =>
  transaction === 'callers' ? 'waits' : 'a while';

/** A page of rows in the order of their ids. */
export interface Page {
  behindId: number;
  limit: number;
}

/** Such a page of all that is known of each delay. */
export interface ListedPage extends Page {
  /** `false`: payloads are not read. */
  payload?: boolean;
}

/** The groups with the highest value of `by`. */
export interface TopGroups {
  by: GroupOrder;
  limit: number;
}

/** Reads live delays, dead letters included, and history by a filter. */
export class SelectionStore {
  readonly #tables: Tables;

  constructor(of: string | Installation) {
    this.#tables = tablesOf(of);
  }

  /** @param aliveMs how long a silent node still counts as alive */
  async list(
    runner: Runner,
    filter: RowFilter,
    page: ListedPage,
    aliveMs: number,
  ): Promise<ListedRow[]> {
    const payload = page.payload === false ? 'unread' : 'read';
    const { sql, parameters } = this.#where(filter, 4);
    const rows = await runner.query<Answer>(listSql(this.#tables, sql, payload), [
      page.behindId,
      page.limit,
      aliveMs,
      ...parameters,
    ]);
    return rows.map(reader(listed(this.#tables, payload)));
  }

  /** One delay, live or ended, and all that may hold it. @param aliveMs as for {@link list} */
  async explain(
    runner: Runner,
    target: { name: string; key: string } | { id: number },
    aliveMs: number,
  ): Promise<ExplainedRow> {
    const [by, named] =
      'id' in target
        ? (['id', [target.id]] as const)
        : (['key', [target.name, target.key]] as const);
    const [row] = await runner.query<Answer>(explainSql(this.#tables, by), [aliveMs, ...named]);
    return reader(explained(this.#tables))(given(row));
  }

  async ids(runner: Runner, filter: RowFilter, page: Page): Promise<number[]> {
    const { sql, parameters } = this.#where(filter, 3);
    const rows = await runner.query<IdAnswer>(idsSql(this.#tables, sql), [
      page.behindId,
      page.limit,
      ...parameters,
    ]);
    return rows.map(idOf);
  }

  async count(runner: Runner, filter: RowFilter): Promise<number> {
    const { sql, parameters } = this.#where(filter, 1);
    const [row] = await runner.query<CountAnswer>(countSql(this.#tables, sql), parameters);
    return numberOf(given(row).count);
  }

  /** How many there are in each state, counted up to `most`. */
  async countByState(
    runner: Pick<Runner, 'query'>,
    filter: RowFilter,
    most: number,
  ): Promise<Map<LiveState, number>> {
    const { sql, parameters } = this.#where(filter, 2);
    const rows = await runner.query<CountAnswer & { state: LiveState }>(
      countByStateSql(this.#tables, sql),
      [most, ...parameters],
    );
    return new Map(rows.map(({ state, count }) => [state, numberOf(count)]));
  }

  async countEnded(runner: Runner, filter: EndedFilter): Promise<number> {
    const { sql, parameters } = this.#ofAnyName('history', filter, matchingEnded(filter, 1));
    const [row] = await runner.query<CountAnswer>(countEndedSql(this.#tables, sql), parameters);
    return numberOf(given(row).count);
  }

  /** Ended delays, newest first, from the newest or `behind` a row. */
  async ended(
    runner: Runner,
    filter: EndedFilter,
    { behind, limit }: { behind: EndedPosition | undefined; limit: number },
  ): Promise<{ rows: EndedRow[]; positions: EndedPosition[] }> {
    const { sql, parameters } = this.#ofAnyName('history', filter, matchingEnded(filter, 5));
    const from =
      behind === undefined
        ? ['infinity', 0, 0]
        : [instantOfUs(behind.endedUs), behind.id, behind.epoch];
    const answers = await runner.query<Answer>(endedSql(this.#tables, sql), [
      ...from,
      limit,
      ...parameters,
    ]);
    return { rows: answers.map(reader(ENDED)), positions: answers.map(reader(POSITION)) };
  }

  async nameStats(runner: Runner, aliveMs: number): Promise<NameStatsRow[]> {
    const rows = await runner.query<Answer>(nameStatsSql(this.#tables), [aliveMs]);
    return rows.map(reader(OF_NAME));
  }

  async groupStats(
    runner: Runner,
    filter: RowFilter,
    { by, limit }: TopGroups,
  ): Promise<RowOf<typeof OF_GROUP>[]> {
    const { sql, parameters } = this.#where(filter, 2);
    const rows = await runner.query<Answer>(groupStatsSql(this.#tables, sql, by), [
      limit,
      ...parameters,
    ]);
    return rows.map(reader(OF_GROUP));
  }

  async nodeStats(runner: Runner, aliveMs: number): Promise<NodeStatsRow[]> {
    const rows = await runner.query<Answer>(nodeStatsSql(this.#tables), [aliveMs]);
    return rows.map(reader(ofNode(this.#tables)));
  }

  #where(filter: RowFilter, first: number): { sql: string; parameters: string[] } {
    return this.#ofAnyName('delay', filter, matching(filter, first));
  }

  /** The index that finds a key leads with the name. */
  #ofAnyName(
    table: 'delay' | 'history',
    { names, key, keyPrefix }: AnyRowFilter,
    { sql, parameters }: { sql: string; parameters: string[] },
  ): { sql: string; parameters: string[] } {
    const isOfAnyName = names === undefined && (key ?? keyPrefix) !== undefined;
    if (!isOfAnyName) return { sql, parameters };
    return { sql: `${sql} AND ${anyNameOf(this.#tables[table])}`, parameters };
  }
}

/** As a text, because a `Date` drops the microseconds. */
function instantOfUs(us: number): string {
  const whole = Math.floor(us / 1e3);
  return new Date(whole)
    .toISOString()
    .replace('Z', `${String(us - whole * 1e3).padStart(3, '0')}Z`);
}

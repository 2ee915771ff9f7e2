import type { DelayRecord, LiveState } from '../api/delay.js';
import type { DelayStats, GroupOrder } from '../api/selection.js';
import { byPurpose } from '../database/prepared-statements.js';
import type { Runner } from '../database/runner.js';
import { type Installation, type Tables, qualifiedTables } from '../database/tables.js';
import { type CountAnswer, readCount, readId, readRow, readRows } from './rows/answers.js';
import { type TextAnswer, reader, type RowOf } from './rows/columns.js';
import type { NameAndKey } from './rows/delay-rows.js';
import { explainColumns, type ExplainedRow, explainSql } from './sql/explain.sql.js';
import {
  countByStateSql,
  countSql,
  findSql,
  found,
  type FoundRow,
  idsSql,
  listedColumns,
  type ListedRow,
  listSql,
} from './sql/delays.sql.js';
import { matching, type RowFilter } from './filter.table.js';
import {
  countEndedSql,
  ENDED,
  type EndedPosition,
  endedSql,
  historySql,
  POSITION,
} from './sql/history.sql.js';
import {
  groupStatsSql,
  type NameStatsRow,
  nameStatsSql,
  nodeStatsSql,
  OF_GROUP,
  OF_NAME,
  nodeColumns,
} from './sql/stats.sql.js';

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

/** Reads live delays, dead letters included, and history, by key or by a filter. */
export class SelectionStore {
  readonly #tables: Tables;
  readonly #byKey;

  constructor(of: string | Installation) {
    this.#tables = qualifiedTables(of);
    this.#byKey = byPurpose({ find: findSql(this.#tables), history: historySql(this.#tables) });
  }

  async find(runner: Runner, { name, key }: NameAndKey): Promise<FoundRow | undefined> {
    const read = reader(found(this.#tables));
    return (await readRows(runner, this.#byKey.find, [name, key], read))[0];
  }

  /** How the delays of a key ended, newest first. */
  history(runner: Runner, { name, key }: NameAndKey, limit: number): Promise<DelayRecord[]> {
    return readRows(runner, this.#byKey.history, [name, key, limit], reader(ENDED));
  }

  /** @param aliveMs how long a silent node still counts as alive */
  list(
    runner: Runner,
    filter: RowFilter,
    { behindId, limit, payload = true }: ListedPage,
    aliveMs: number,
  ): Promise<ListedRow[]> {
    const read = payload ? 'read' : 'unread';
    const { sql, parameters } = this.#where(filter, 4);
    return readRows(
      runner,
      listSql(this.#tables, sql, read),
      [behindId, limit, aliveMs, ...parameters],
      reader(listedColumns(this.#tables, read)),
    );
  }

  /** One delay, live or ended, and all that may hold it. @param aliveMs as for {@link list} */
  explain(
    runner: Runner,
    target: { name: string; key: string } | { id: number },
    aliveMs: number,
  ): Promise<ExplainedRow> {
    const isById = 'id' in target;
    const sql = explainSql(this.#tables, isById ? 'id' : 'key');
    const named = isById ? [target.id] : [target.name, target.key];
    return readRow(runner, sql, [aliveMs, ...named], reader(explainColumns(this.#tables)));
  }

  ids(runner: Runner, filter: RowFilter, { behindId, limit }: Page): Promise<number[]> {
    const { sql, parameters } = this.#where(filter, 3);
    return readRows(runner, idsSql(this.#tables, sql), [behindId, limit, ...parameters], readId);
  }

  count(runner: Runner, filter: RowFilter): Promise<number> {
    const { sql, parameters } = this.#where(filter, 1);
    return readRow(runner, countSql(this.#tables, sql), parameters, readCount);
  }

  /** How many there are in each state, counted up to `most`. */
  async countByState(
    runner: Pick<Runner, 'query'>,
    filter: RowFilter,
    most: number,
  ): Promise<Map<LiveState, number>> {
    const { sql, parameters } = this.#where(filter, 2);
    const text = countByStateSql(this.#tables, sql);
    return new Map(await readRows(runner, text, [most, ...parameters], readStateCount));
  }

  countEnded(runner: Runner, filter: RowFilter): Promise<number> {
    const { sql, parameters } = this.#past(filter, 1);
    return readRow(runner, countEndedSql(this.#tables, sql), parameters, readCount);
  }

  /** Ended delays, newest first, from the newest or `behind` a row. */
  async ended(
    runner: Runner,
    filter: RowFilter,
    { behind, limit }: { behind: EndedPosition | undefined; limit: number },
  ): Promise<{ rows: DelayRecord[]; positions: EndedPosition[] }> {
    const { sql, parameters } = this.#past(filter, 5);
    const from =
      behind === undefined
        ? ['infinity', 0, 0]
        : [instantOfUs(behind.endedUs), behind.id, behind.epoch];
    const answers = await runner.query<TextAnswer>(endedSql(this.#tables, sql), [
      ...from,
      limit,
      ...parameters,
    ]);
    return { rows: answers.map(reader(ENDED)), positions: answers.map(reader(POSITION)) };
  }

  nameStats(runner: Runner, aliveMs: number): Promise<NameStatsRow[]> {
    return readRows(runner, nameStatsSql(this.#tables), [aliveMs], reader(OF_NAME));
  }

  groupStats(
    runner: Runner,
    filter: RowFilter,
    { by, limit }: TopGroups,
  ): Promise<RowOf<typeof OF_GROUP>[]> {
    const { sql, parameters } = this.#where(filter, 2);
    const text = groupStatsSql(this.#tables, sql, by);
    return readRows(runner, text, [limit, ...parameters], reader(OF_GROUP));
  }

  nodeStats(runner: Runner, aliveMs: number): Promise<DelayStats['nodes']> {
    return readRows(
      runner,
      nodeStatsSql(this.#tables),
      [aliveMs],
      reader(nodeColumns(this.#tables)),
    );
  }

  #where(filter: RowFilter, first: number) {
    return matching(filter, first, { table: this.#tables.delay });
  }

  #past(filter: RowFilter, first: number) {
    return matching(filter, first, { rows: 'ended', table: this.#tables.history });
  }
}

const readStateCount = (row: CountAnswer & { state: LiveState }): [LiveState, number] => [
  row.state,
  readCount(row),
];

/** As a text, because a `Date` drops the microseconds. */
function instantOfUs(us: number): string {
  const whole = Math.floor(us / 1e3);
  return new Date(whole)
    .toISOString()
    .replace('Z', `${String(us - whole * 1e3).padStart(3, '0')}Z`);
}

import { given, type Runner } from '../database/runner.js';
import { type Installation, type Tables, qualifiedTables } from '../database/tables.js';
import {
  type AsText,
  type CountAnswer,
  endPosition,
  FIRST_PAGE,
  type DeletedAnswer,
  type PagePosition,
  readCount,
  readRow,
} from './rows/answers.js';
import { texts } from './rows/delay-rows.js';
import {
  countErasedSql,
  countTextsSql,
  eraseChangesSql,
  eraseHistorySql,
  eraseSql,
  eraseTextsSql,
  isGivenBack,
  type ErasedTable,
} from './sql/erase.sql.js';
import { indexFor, matching, namedBy, type RowFilter } from './filter.table.js';

/** Most rows that one statement removes. */
const PAGE = 1_000;
/** Most rows that one reads, where no index leads to those that are meant. */
const WALKED_MAX = 20_000;

/** Removes what is stored about one person, page by page. */
export class EraseStore {
  readonly #tables: Tables;

  constructor(of: Installation) {
    this.#tables = qualifiedTables(of);
  }

  /** @yields how many rows each statement has removed; the last one removes none */
  async *rows(runner: Runner, place: ErasedTable, filter: RowFilter): AsyncGenerator<number> {
    const { sql, parameters } = this.#where(place, filter, 2);
    for (let count = 1; count > 0;) {
      const text = eraseSql(this.#tables, place, sql);
      count = await readRow(runner, text, [PAGE, ...parameters], readCount);
      yield count;
    }
  }

  /** @yields how many entries each page has removed */
  async *history(runner: Runner, filter: RowFilter): AsyncGenerator<number> {
    const index = indexFor(filter, 'ended');
    const way = index === 'key' || index === 'group' ? 'found' : 'walked';
    const most = way === 'found' ? PAGE : WALKED_MAX;
    const { sql, parameters } = this.#where('history', filter, 5);
    const text = eraseHistorySql(this.#tables, sql, way);
    let behind: PagePosition | undefined = FIRST_PAGE;
    while (behind !== undefined) {
      const [row]: DeletedAnswer[] = await runner.query(text, [most, ...behind, ...parameters]);
      const page = given(row);
      const count = readCount(page);
      yield count;
      // Where an index leads, what is gone is not met again; what is locked may be.
      if (way === 'walked') behind = endPosition(page);
      else if (count === 0) return;
    }
  }

  /** What operations list of these delays. */
  async changes(
    runner: Runner,
    changed: readonly { name: string; key: string | null }[],
  ): Promise<void> {
    const keyed = changed.filter(({ key }) => key !== null);
    if (keyed.length === 0) return;
    const columns = [keyed.map(({ name }) => name), keyed.map(({ key }) => String(key))];
    await runner.query(eraseChangesSql(this.#tables), columns.map(texts));
  }

  /** @yields of how many operations each page has removed the texts */
  async *operationTexts(runner: Runner, filter: RowFilter): AsyncGenerator<number> {
    for (let behind: string | null = '0'; behind !== null;) {
      const parameters: unknown[] = [behind, PAGE, erasePattern(filter)];
      const [row]: (CountAnswer & AsText<never, 'last'>)[] = await runner.query(
        eraseTextsSql(this.#tables),
        parameters,
      );
      behind = given(row).last;
      yield readCount(given(row));
    }
  }

  count(runner: Runner, place: ErasedTable, filter: RowFilter): Promise<number> {
    const { sql, parameters } = this.#where(place, filter, 1);
    return readRow(runner, countErasedSql(this.#tables, place, sql), parameters, readCount);
  }

  countOperations(runner: Runner, filter: RowFilter): Promise<number> {
    return readRow(runner, countTextsSql(this.#tables), [erasePattern(filter)], readCount);
  }

  #where(place: ErasedTable | 'history', filter: RowFilter, first: number) {
    const hasIndex = place === 'history' || place === 'rerun';
    const table = hasIndex ? this.#tables[place] : undefined;
    const { sql, parameters } = matching(filter, first, { table });
    return {
      sql: place === 'permit' ? `${sql} AND ${isGivenBack(this.#tables)}` : sql,
      parameters,
    };
  }
}

/**
 * A regular expression for the values of a filter, as words of a text; a prefix may go on. A header
 * is searched as `name:value`.
 */
function erasePattern(filter: RowFilter): string {
  const alternatives = namedBy(filter).map(({ text, isPrefix }) =>
    isPrefix ? escapeRegex(text) : `${escapeRegex(text)}(?![[:alnum:]_])`,
  );
  return `(?:^|[^[:alnum:]_])(?:${alternatives.join('|')})`;
}

const escapeRegex = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N}_\s]/gu, String.raw`\$&`);

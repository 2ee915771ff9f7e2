import { given, type Runner } from '../database/runner.js';
import { type Installation, type Tables, tablesOf } from '../database/tables.js';
import {
  type AsText,
  type CountAnswer,
  endOf,
  FIRST_PAGE,
  type DeletedAnswer,
  type PagePosition,
} from './rows/answers.js';
import { numberOf } from './rows/columns.js';
import { texts } from './rows/delay-rows.js';
import {
  countErasedSql,
  countTextsSql,
  eraseChangesSql,
  eraseHistorySql,
  eraseSql,
  eraseTextsSql,
  isGivenBack,
  type Place,
} from './sql/erase.sql.js';
import { anyNameOf, type AnyRowFilter, matching } from './sql/fragments/filter.js';

/** Most rows that one statement removes. */
const PAGE = 1_000;
/** Most rows that one reads, where no index leads to those that are meant. */
const WALKED_MAX = 20_000;

/** Removes what is stored about one person, page by page. */
export class EraseStore {
  readonly #tables: Tables;

  constructor(of: Installation) {
    this.#tables = tablesOf(of);
  }

  /** @yields how many rows each statement has removed; the last one removes none */
  async *rows(runner: Runner, place: Place, filter: AnyRowFilter): AsyncGenerator<number> {
    const { sql, parameters } = this.#where(place, filter, 2);
    for (let count = 1; count > 0;) {
      const [row] = await runner.query<CountAnswer>(eraseSql(this.#tables, place, sql), [
        PAGE,
        ...parameters,
      ]);
      count = numberOf(given(row).count);
      yield count;
    }
  }

  /** @yields how many entries each page has removed */
  async *history(runner: Runner, filter: AnyRowFilter): AsyncGenerator<number> {
    const { key, keyPrefix, groups } = filter;
    const way = (key ?? keyPrefix ?? groups) === undefined ? 'walked' : 'found';
    const most = way === 'found' ? PAGE : WALKED_MAX;
    const { sql, parameters } = this.#where('history', filter, 5);
    const text = eraseHistorySql(this.#tables, sql, way);
    let behind: PagePosition | undefined = FIRST_PAGE;
    while (behind !== undefined) {
      const [row]: DeletedAnswer[] = await runner.query(text, [most, ...behind, ...parameters]);
      const page = given(row);
      const count = numberOf(page.count);
      yield count;
      // Where an index leads, what is gone is not met again; what is locked may be.
      if (way === 'walked') behind = endOf(page);
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
  async *operationTexts(runner: Runner, filter: AnyRowFilter): AsyncGenerator<number> {
    for (let behind: string | null = '0'; behind !== null;) {
      const parameters: unknown[] = [behind, PAGE, patternOf(filter)];
      const [row]: (CountAnswer & AsText<never, 'last'>)[] = await runner.query(
        eraseTextsSql(this.#tables),
        parameters,
      );
      behind = given(row).last;
      yield numberOf(given(row).count);
    }
  }

  async count(runner: Runner, place: Place, filter: AnyRowFilter): Promise<number> {
    const { sql, parameters } = this.#where(place, filter, 1);
    const [row] = await runner.query<CountAnswer>(
      countErasedSql(this.#tables, place, sql),
      parameters,
    );
    return numberOf(given(row).count);
  }

  async countOperations(runner: Runner, filter: AnyRowFilter): Promise<number> {
    const [row] = await runner.query<CountAnswer>(countTextsSql(this.#tables), [patternOf(filter)]);
    return numberOf(given(row).count);
  }

  #where(place: Place | 'history', filter: AnyRowFilter, first: number) {
    const { sql, parameters } = matching(filter, first);
    const { names, key, keyPrefix } = filter;
    const hasIndex = place === 'history' || place === 'rerun';
    const and = [
      ...(hasIndex && names === undefined && (key ?? keyPrefix) !== undefined
        ? [anyNameOf(this.#tables[place])]
        : []),
      ...(place === 'permit' ? [isGivenBack(this.#tables)] : []),
    ];
    return { sql: [sql, ...and].join(' AND '), parameters };
  }
}

/**
 * A regular expression for the values of a filter, as words of a text; a prefix may go on. A header
 * is searched as `name:value`.
 */
function patternOf({ key, keyPrefix, groups = [], headers }: AnyRowFilter): string {
  const all = Object.entries(JSON.parse(headers ?? '{}') as Record<string, string>);
  const words = [key ?? [], groups, all.map(([name, value]) => `${name}:${value}`)].flat();
  const alternatives = [
    ...words.map((word) => `${escaped(word)}(?![[:alnum:]_])`),
    ...(keyPrefix === undefined ? [] : [escaped(keyPrefix)]),
  ];
  return `(?:^|[^[:alnum:]_])(?:${alternatives.join('|')})`;
}

const escaped = (text: string): string => text.replaceAll(/[^\p{L}\p{N}_\s]/gu, String.raw`\$&`);

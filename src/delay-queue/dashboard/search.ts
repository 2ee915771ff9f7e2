import { DelayInvalidError } from '../api/errors.js';
import { listedOf, recordOf } from '../client/results.js';
import type { ResolvedOptions } from '../config/options.js';
import { checkName } from '../config/schedule-options.js';
import type { Runner } from '../database/runner.js';
import {
  type Hit,
  type IndexedFilter,
  type Search,
  SearchStore,
  WALK_ROWS_MAX,
} from './store/search.store.js';
import { SelectionStore } from '../store/selection.store.js';
import type { EndedFilter, RowFilter } from '../store/sql/fragments/filter.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import type { Count, DelayLine, SearchFilter, SearchPage } from './contract.js';
import { endedLine, liveLine } from './lines.js';
import type { Rights } from './rights.js';
import { SEARCH_STATES, type Selection, selectionOf } from './search-filter.js';

type Meaning = SearchPage['meaning'];
type Table = 'delay' | 'history';

/**
 * A search passes stages, one after the other: rows to which an index leads, rows of the same
 * filter without a key, rows that a walk finds; of live delays, then of ended ones.
 */
interface Stage extends Search {
  name: StageName;
}

type StageName = `${Table}-${'few' | 'keyless' | 'walk'}`;

const STAGE_NAMES: readonly StageName[] = [
  'delay-few',
  'delay-keyless',
  'delay-walk',
  'history-few',
  'history-keyless',
  'history-walk',
];

const FIELDS = { key: 'key', id: 'id', name: 'name', group: 'group' } as const;

/** Finds delays, page by page. */
export class DelaySearch {
  readonly #store: SearchStore;
  readonly #selection: SelectionStore;
  readonly #aliveMs: number;

  constructor(private readonly options: ResolvedOptions) {
    this.#store = new SearchStore(options.installation);
    this.#selection = new SelectionStore(options.installation);
    this.#aliveMs = options.loadEveryMs * LOADS_MISSED_MAX;
  }

  /** @throws DelayInvalidError */
  async page(
    runner: Runner,
    filter: SearchFilter,
    rights: Rights,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<SearchPage> {
    const from = after === null ? undefined : cursorOf(after);
    const meaning = from?.meaning ?? (await this.meaningOf(runner, filter.q, rights));
    const selection = this.selectionOf(filter, meaning, rights);
    const { hits, next, isStopped } = await this.#hits(runner, selection, from, limit);
    const isFull = next !== null && !isStopped;
    const found: Count = { count: hits.length, is: next === null ? 'exact' : 'atLeast' };
    const count = isFull && from === undefined ? await this.count(runner, selection) : found;
    return {
      meaning,
      delays: await this.lines(runner, hits),
      next: next && cursorText({ ...next, meaning }),
      stoppedAfter: isStopped ? WALK_ROWS_MAX : null,
      count: from === undefined ? count : null,
    };
  }

  /** What `q` is taken for: a key above all; null without a `q`. */
  async meaningOf(runner: Runner, q: string | undefined, rights: Rights): Promise<Meaning> {
    if (q === undefined) return null;
    const scope = (field: 'key' | 'id' | 'group'): Selection =>
      this.selectionOf({ q, state: [...SEARCH_STATES] }, field, rights);
    const { live: key, ended: pastKey } = scope('key');
    if (key && (await this.#store.exists(runner, 'delay', key))) return 'key';
    if (pastKey && (await this.#store.exists(runner, 'history', pastKey))) return 'key';
    const { live: id } = scope('id');
    if (id && (await this.#store.exists(runner, 'delay', id))) return 'id';
    if (await this.#isName(runner, q, rights)) return 'name';
    const { live: group, ended: pastGroup } = scope('group');
    if (group && (await this.#store.exists(runner, 'delay', group))) return 'group';
    if (pastGroup && (await this.#store.exists(runner, 'history', pastGroup))) return 'group';
    // What has ended is found by a walk, and so is a name without keys that no node serves.
    if (id !== undefined) return 'id';
    return rights.names === null && isName(q) ? 'name' : 'nothing';
  }

  /** Whether it is one that the viewer may know of. */
  async #isName(runner: Runner, q: string, { names, groups }: Rights): Promise<boolean> {
    if (names !== null) return names.includes(q);
    if (groups === null) return this.#store.isName(runner, q);
    return this.#store.exists(runner, 'delay', { names: [q], groups });
  }

  /** The filter with what its `q` means. @throws DelayInvalidError */
  selectionOf({ q, ...rest }: SearchFilter, meaning: Meaning, rights: Rights): Selection {
    if (q === undefined) return selectionOf(rest, rights);
    if (meaning === null || meaning === 'nothing') return NOTHING;
    const field = FIELDS[meaning];
    if ((rest[field] ?? q) !== q || q.length > LENGTH_MAX[meaning]) return NOTHING;
    if (meaning === 'id' && !/^\d+$/.test(q)) return NOTHING;
    // A key and an id are looked for in the past, too.
    const state =
      rest.state ?? (meaning === 'key' || meaning === 'id' ? [...SEARCH_STATES] : undefined);
    return selectionOf({ ...rest, [field]: q, ...(state && { state }) }, rights);
  }

  /** How many a selection has; counting reads no more than a page. */
  async count(runner: Runner, { live, ended }: Selection): Promise<Count> {
    const counts = [
      ...(live ? await this.#counts(runner, 'delay', live) : []),
      ...(ended ? await this.#counts(runner, 'history', ended) : []),
    ];
    return {
      count: counts.reduce((sum, { matched }) => sum + matched, 0),
      is: counts.every(({ isAll }) => isAll) ? 'exact' : 'atLeast',
    };
  }

  /** The ids of live delays of a selection, a page at a time, in the order of a search. */
  async ids(
    runner: Runner,
    live: RowFilter | undefined,
    after: string | null,
    limit: number,
  ): Promise<{ ids: string[]; next: string | null }> {
    const from = after === null ? undefined : cursorOf(after);
    const { hits, next } = await this.#hits(runner, { live, ended: undefined }, from, limit);
    return {
      ids: hits.map(({ id }) => id),
      next: next && cursorText({ ...next, meaning: null }),
    };
  }

  /** Live delays are read by id, with what each waits for. */
  async lines(runner: Runner, hits: readonly Pick<Hit, 'id' | 'row'>[]): Promise<DelayLine[]> {
    const ids = hits.flatMap(({ id, row }) => (row === null ? [id] : []));
    const page = { behindId: 0, limit: ids.length, payload: false };
    const rows =
      ids.length === 0 ? [] : await this.#selection.list(runner, { ids }, page, this.#aliveMs);
    const listed = await listedOf(rows, this.options.payloads);
    const live = new Map(listed.map((delay) => [delay.id, liveLine(delay)]));
    return hits.flatMap(({ id, row }) => (row ? endedLine(recordOf(row)) : (live.get(id) ?? [])));
  }

  async #hits(
    runner: Runner,
    selection: Selection,
    from: Place | undefined,
    limit: number,
  ): Promise<{ hits: Hit[]; next: Place | null; isStopped: boolean }> {
    const found: { stage: StageName; hit: Hit }[] = [];
    let behind = from?.behind;
    for await (const stage of this.#stages(runner, selection, from?.stage)) {
      const page = { behind, limit: limit + 1 - found.length };
      const hits = await this.#store.page(runner, stage, page);
      found.push(...hits.map((hit) => ({ stage: stage.name, hit })));
      if (found.length > limit) break;
      const end =
        stage.way === 'walk' ? await this.#store.walkEnd(runner, stage, behind) : undefined;
      if (end !== undefined) {
        const next = { stage: stage.name, behind: end };
        return { hits: found.map(({ hit }) => hit), next, isStopped: true };
      }
      behind = undefined;
    }
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const next =
      found.length > limit && last ? { stage: last.stage, behind: last.hit.position } : null;
    return { hits: shown.map(({ hit }) => hit), next, isStopped: false };
  }

  /** The stages of a selection, from one of them on. */
  async *#stages(
    runner: Runner,
    { live, ended }: Selection,
    from: StageName | undefined,
  ): AsyncGenerator<Stage> {
    if (live && !from?.startsWith('history')) {
      yield* this.#stagesOf(runner, 'delay', live, from);
    }
    if (ended) {
      const first = from?.startsWith('history') ? from : undefined;
      yield* this.#stagesOf(runner, 'history', ended, first);
    }
  }

  async *#stagesOf(
    runner: Runner,
    table: Table,
    filter: RowFilter & EndedFilter,
    from: StageName | undefined,
  ): AsyncGenerator<Stage> {
    const order =
      table === 'history' ? 'ended' : filter.states?.join() === 'dead' ? 'dead' : 'wake';
    const way = from === undefined ? await this.#wayOf(runner, table, filter) : from.split('-')[1];
    if (way === 'walk') {
      yield { name: `${table}-walk`, order, way, filter };
      return;
    }
    const isByName = indexOf(table, filter) === 'name';
    if (way === 'few') {
      const and = isByName ? 'd.key IS NOT NULL' : 'true';
      yield { name: `${table}-few`, order, way, filter, and };
    }
    if (isByName) {
      yield { name: `${table}-keyless`, order, way: 'walk', filter, and: 'd.key IS NULL' };
    }
  }

  async #wayOf(
    runner: Runner,
    table: Table,
    filter: RowFilter & EndedFilter,
  ): Promise<'few' | 'walk'> {
    const index = indexOf(table, filter);
    if (index === undefined) return 'walk';
    if (index === 'id') return 'few';
    const { names, key, keyPrefix, groups } = filter;
    const indexed: IndexedFilter =
      index === 'group'
        ? { ...(groups && { groups }) }
        : {
            ...(names && { names }),
            ...(key !== undefined && { key }),
            ...(keyPrefix !== undefined && { keyPrefix }),
          };
    const and = index === 'name' ? 'd.key IS NOT NULL' : 'true';
    return (await this.#store.areFew(runner, table, indexed, and)) ? 'few' : 'walk';
  }

  async #counts(
    runner: Runner,
    table: Table,
    filter: RowFilter & EndedFilter,
  ): Promise<{ matched: number; isAll: boolean }[]> {
    const counts = [];
    for await (const stage of this.#stagesOf(runner, table, filter, undefined)) {
      counts.push(await this.#store.count(runner, stage));
    }
    return counts;
  }
}

function isName(q: string): boolean {
  try {
    return checkName(q) === q;
  } catch {
    return false;
  }
}

const NOTHING: Selection = { live: undefined, ended: undefined };

const LENGTH_MAX = { key: 255, id: 15, name: 100, group: 255 } as const;

/** What leads to the rows of a filter. Names lead to those with a key alone. */
function indexOf(
  table: Table,
  { ids, key, keyPrefix, groups, names }: RowFilter & EndedFilter,
): 'id' | 'key' | 'group' | 'name' | undefined {
  if (ids !== undefined && table === 'delay') return 'id';
  if ((key ?? keyPrefix) !== undefined) return 'key';
  if (groups !== undefined) return 'group';
  return names === undefined ? undefined : 'name';
}

interface Place {
  stage: StageName;
  /** A position in it. */
  behind: string;
}

const cursorText = ({ stage, meaning, behind }: Place & { meaning: Meaning }): string =>
  `${stage} ${meaning ?? 'filter'} ${behind}`;

const MEANINGS = ['key', 'id', 'name', 'group', 'nothing'] as const satisfies Meaning[];

/** A position: numbers, and instants as Postgres writes and reads them. */
const POSITION =
  /^(?:(?:-?infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} (?:AD|BC)),)?-?\d{1,19}(?:,-?\d{1,19})?$/;

/** @throws DelayInvalidError */
function cursorOf(after: string): Place & { meaning: Meaning } {
  const [first = '', second = ''] = after.split(' ', 2);
  const behind = after.slice(first.length + second.length + 2);
  const stage = STAGE_NAMES.find((name) => name === first);
  const meaning = MEANINGS.find((each) => each === second) ?? null;
  if (stage !== undefined && POSITION.test(behind)) return { stage, meaning, behind };
  throw new DelayInvalidError('after', 'must be the `next` of a page');
}

import { DelayInvalidError } from '../core/index.js';
import {
  checkName,
  indexedBy,
  indexFor,
  toListed,
  LOADS_MISSED_MAX,
  type ResolvedOptions,
  type RowFilter,
  type Runner,
  SelectionStore,
} from '../core/ops.js';
import { type Hit, type Search, SearchStore, WALK_ROWS_MAX } from './store/search.store.js';
import type { Count, DelayLine, SearchPage } from './contract.js';
import { endedLine, liveLine } from './lines.js';
import type { Rights } from './rights.js';
import { type Selection, visibleSelection } from './search-filter.js';
import { SEARCH_STATES, type SearchFilter } from './search.table.js';

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

const isStageName = (text: string): text is StageName =>
  /^(?:delay|history)-(?:few|keyless|walk)$/.test(text);

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

  async page(
    runner: Runner,
    filter: SearchFilter,
    rights: Rights,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<SearchPage> {
    const from = after === null ? undefined : parseCursor(after);
    const meaning = from?.meaning ?? (await this.#meaning(runner, filter.q, rights));
    const selection = this.#select(filter, meaning, rights);
    const { hits, next, isStopped } = await this.#hits(runner, selection, from, limit);
    const isFull = next !== null && !isStopped;
    const found: Count = { count: hits.length, is: next === null ? 'exact' : 'atLeast' };
    const count = isFull && from === undefined ? await this.#count(runner, selection) : found;
    return {
      meaning,
      delays: await this.#lines(runner, hits),
      next: next && cursorText({ ...next, meaning }),
      stoppedAfter: isStopped ? WALK_ROWS_MAX : null,
      count: from === undefined ? count : null,
    };
  }

  /** What `q` is taken for: a key above all; null without a `q`. */
  async #meaning(runner: Runner, q: string | undefined, rights: Rights): Promise<Meaning> {
    if (q === undefined) return null;
    const scope = (field: 'key' | 'id' | 'group'): Selection =>
      this.#select({ q, state: SEARCH_STATES }, field, rights);
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
    return this.#store.exists(runner, 'delay', { name: [q], group: groups });
  }

  /** The filter with what its `q` means. @throws DelayInvalidError */
  #select({ q, ...rest }: SearchFilter, meaning: Meaning, rights: Rights): Selection {
    if (q === undefined) return visibleSelection(rest, rights);
    if (meaning === null || meaning === 'nothing') return NOTHING;
    if ((rest[meaning] ?? q) !== q || q.length > LENGTH_MAX[meaning]) return NOTHING;
    if (meaning === 'id' && !/^\d+$/.test(q)) return NOTHING;
    // A key and an id are looked for in the past, too.
    const state = rest.state ?? (meaning === 'key' || meaning === 'id' ? SEARCH_STATES : undefined);
    return visibleSelection({ ...rest, [meaning]: q, ...(state && { state }) }, rights);
  }

  /** How many a selection has; counting reads no more than a page. */
  async #count(runner: Runner, selection: Selection): Promise<Count> {
    const counts = [];
    for await (const stage of this.#stages(runner, selection, undefined)) {
      counts.push(await this.#store.count(runner, stage));
    }
    return {
      count: counts.reduce((sum, { matched }) => sum + matched, 0),
      is: counts.every(({ isAll }) => isAll) ? 'exact' : 'atLeast',
    };
  }

  /** Live delays are read by id, with what each waits for. */
  async #lines(runner: Runner, hits: readonly Hit[]): Promise<DelayLine[]> {
    const ids = hits.flatMap(({ id, row }) => (row === null ? [id] : []));
    const page = { behindId: 0, limit: ids.length, payload: false };
    const rows =
      ids.length === 0 ? [] : await this.#selection.list(runner, { id: ids }, page, this.#aliveMs);
    const listed = await toListed(rows, this.options.payloads);
    const live = new Map(listed.map((delay) => [delay.id, liveLine(delay)]));
    return hits.flatMap(({ id, row }) => (row ? endedLine(row) : (live.get(id) ?? [])));
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

  async *#stages(
    runner: Runner,
    { live, ended }: Selection,
    from: StageName | undefined,
  ): AsyncGenerator<Stage> {
    const isPast = from?.startsWith('history') === true;
    if (live && !isPast) yield* this.#tableStages(runner, 'delay', live, from);
    if (ended) yield* this.#tableStages(runner, 'history', ended, isPast ? from : undefined);
  }

  async *#tableStages(
    runner: Runner,
    table: Table,
    filter: RowFilter,
    from: StageName | undefined,
  ): AsyncGenerator<Stage> {
    const order = table === 'history' ? 'ended' : filter.state?.join() === 'dead' ? 'dead' : 'wake';
    const index = indexFor(filter, table === 'delay' ? 'live' : 'ended');
    // That of names leads to rows with a key alone.
    const and = index === 'name' ? 'd.key IS NOT NULL' : 'true';
    const areFew = async (): Promise<boolean> => {
      if (index === undefined || index === 'id') return index === 'id';
      const indexed =
        index === 'group' ? indexedBy(filter, 'group') : indexedBy(filter, 'name', 'key');
      return this.#store.areFew(runner, table, indexed, and);
    };
    const way = from?.split('-')[1] ?? ((await areFew()) ? 'few' : 'walk');
    if (way === 'walk') yield { name: `${table}-walk`, order, way, filter };
    if (way === 'few') yield { name: `${table}-few`, order, way, filter, and };
    if (way !== 'walk' && index === 'name') {
      yield { name: `${table}-keyless`, order, way: 'walk', filter, and: 'd.key IS NULL' };
    }
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

interface Place {
  stage: StageName;
  behind: string;
}

const cursorText = ({ stage, meaning, behind }: Place & { meaning: Meaning }): string =>
  `${stage} ${meaning ?? 'filter'} ${behind}`;

const MEANINGS = ['key', 'id', 'name', 'group', 'nothing'] as const satisfies Meaning[];

/** A position: numbers, and instants as Postgres writes and reads them. */
const POSITION =
  /^(?:(?:-?infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} (?:AD|BC)),)?-?\d{1,19}(?:,-?\d{1,19})?$/;

function parseCursor(after: string): Place & { meaning: Meaning } {
  const [first = '', second = ''] = after.split(' ', 2);
  const behind = after.slice(first.length + second.length + 2);
  const meaning = MEANINGS.find((each) => each === second) ?? null;
  if (isStageName(first) && POSITION.test(behind)) return { stage: first, meaning, behind };
  throw new DelayInvalidError('after', 'must be the `next` of a page');
}

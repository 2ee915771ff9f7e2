import type { MoveTo } from '../../config/durations.js';
import type { ParsedSchedule } from '../../config/schedule-options.js';
import type { Extra } from './columns.js';

/*
 * What the store takes and returns for delays. Ids and epochs are numbers: 2^53 of them outlast any
 * queue.
 */

/** A delay to write. */
export interface NewDelay
  extends
    Pick<ParsedSchedule, 'key' | 'maxAttempts' | 'onConflict' | Extra>,
    Partial<Pick<ParsedSchedule, 'maxWaitMs' | 'repeat' | 'reruns'>> {
  name: string;
  /** Checked JSON text. */
  payload: string;
  to: MoveTo;
}

export interface NameAndKey<N extends string = string> {
  name: N;
  key: string;
}

/** A delay, as a call names it. */
export type Target = NameAndKey | { id: number };

interface Keyed {
  readonly name: string;
  readonly key: string | null;
}

/** A delay and its new due time. */
export interface Move extends NameAndKey {
  to: MoveTo;
}

/** An attempt that runs in this process and may reschedule itself. */
export interface OwnAttempt extends Fence {
  latenessMs: number;
}

/** The result of a write: its verdict, and where the row waits. */
export interface Placed<Verdict extends string = string> {
  verdict: Verdict;
  id: number;
  /** Undefined where the statement does not return it: the scheduling caller knows it. */
  group?: string | null | undefined;
  dueMs: number;
  /** Null when this call did not write the row. */
  epoch: number | null;
  wakeMs: number | null;
  nowMs: number;
  /** A cancel removed the rerun of that key. */
  rerunCancelled?: true;
}

/** Name and key as one text; no name has a space in it. */
export const keyText = ({ name, key }: Keyed): string => `${name} ${key}`;

/** A row that some node must handle: what the read-ahead keeps, never a payload. */
export interface Wake extends Fence {
  name: string;
  group: string | null;
  /** Milliseconds since 1970 on the database's clock. */
  wakeMs: number;
  /** An earlier attempt reported no result: this row may have killed its process. */
  stalled: boolean;
  /** An earlier attempt failed, perhaps in a batch: it no longer travels in batches. */
  failed: boolean;
  /** A node could not read it, but another may: any node may take it. */
  refused?: boolean;
  /** Its process is gone before its lease has ended: it may be taken over. */
  orphaned?: boolean;
}

/** Added to the outcome of the latest attempt in a page of wakes: a node could not read the row. */
export const REFUSED = 4;

/** The rank of a paused name: no id belongs to the node. */
export const PAUSED = -1;

/** The rows of a node's share, in the form of the statements' parameters. */
export interface Shares {
  names: string[];
  counts: number[];
  /** {@link PAUSED} while the name is. */
  ranks: number[];
  /** Whether a delay's owner is picked by its group, if it has one, instead of its id. */
  byGroup: boolean[];
  /** Groups of these names that are skipped for now, as {@link groupText}. */
  leftOut: string[];
}

/** Name and group as one text; no name has a space in it. */
export const groupText = (name: string, group: string | null): string => `${name} ${group ?? ''}`;

/** The group '' is the whole name; `untilMs` null: no end. */
export type PauseTuple = [name: string, group: string, untilMs: number | null];

interface PageOfWakes {
  wakes: Wake[];
  /** Where the next page begins; null: nothing is left, or a load's page was empty. */
  cursor: WakeCursor | null;
  nowMs: number;
}

export interface LoadedPage extends PageOfWakes {
  nodes: [id: string, names: string[]][];
  /** The instance that sent the previous heartbeat under the same name; null: none. */
  lastInstance: string | null;
  /** Whether the server that answers knows this node's lock; null: the node has none. */
  isHeld: boolean | null;
  pauses: PauseTuple[];
  /** The clock, read again when all else had been read. */
  laterMs: number;
}

export interface SweptPage extends PageOfWakes {
  /** First wake from the page's start, any owner's; null: none is overdue, or the page is full. */
  oldestMs: number | null;
}

export interface WakeCursor {
  wakeMs: number;
  id: number;
}

/*
 * Arrays as Postgres reads them. `pg` writes them too, but quotes each number and searches each
 * text twice: a tenth of all the work of a claim.
 *
 * No array holds NULL: where a role has `array_nulls = off`, Postgres reads it as the text "NULL".
 * A missing value travels as one that no caller may give, and the SQL turns it into NULL.
 */

/** `{1,2,NaN}` */
export const numbers = (values: readonly number[]): string => `{${values.join()}}`;

/** `{true,false}` */
export const flags = (values: readonly boolean[]): string => `{${values.join()}}`;

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** `{"a","say \"b\""}` */
export const texts = (values: readonly string[]): string => `{${values.map(quoteElement).join()}}`;

const quoteElement = (text: string): string =>
  `"${SPECIAL.test(text) ? text.replace(EACH_SPECIAL, '\\$&') : text}"`;

export const NO_KEY = '';
export const keyOrNull = (column: string): string => `NULLIF(${column}, '')`;

export const NO_MS = Number.NaN;
export const msOrNull = (column: string): string => `NULLIF(${column}, 'NaN')`;

export const NO_INSTANT = '-infinity';
export const instantOrNull = (column: string): string => `NULLIF(${column}, '-infinity')`;

export const NO_MAXIMUM = 0;
export const maximumOrNull = (column: string): string => `NULLIF(${column}, 0)`;

/** A claim that a statement requires or proves. */
export interface Fence {
  id: number;
  epoch: number;
}

export const fenceColumns = (items: readonly Fence[]): [ids: string, epochs: string] => [
  numbers(items.map((item) => item.id)),
  numbers(items.map((item) => item.epoch)),
];

/** The items by (name, key), with their previous indexes: in one order, whatever the locale. */
export function inLockOrder<Item extends Keyed>(
  items: readonly Item[],
): { sorted: Item[]; indexes: number[] } {
  const at = (index: number): Item => items[index] as Item;
  const indexes = Array.from(items.keys()).toSorted((one, other) => {
    const [a, b] = [at(one), at(other)];
    return compare(a.name, b.name) || compare(a.key ?? '', b.key ?? '');
  });
  return { sorted: indexes.map(at), indexes };
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

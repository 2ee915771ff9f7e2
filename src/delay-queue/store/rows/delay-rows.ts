import type { EndState, LiveState, OnConflict } from '../../api/delay.js';
import type { MoveTo } from '../../config/due-times.js';
import type { GivenRepeat } from '../../config/schedule-options.js';

/*
 * What the store takes and gives of delays. Ids and epochs are numbers: 2^53 of them last for any queue. How the
 * statements answer is in `answers.ts` and `../write-answers.ts`.
 */

/** One delay to be written; `payload` is checked JSON text. */
export interface NewDelay {
  name: string;
  key: string | null;
  payload: string;
  to: MoveTo;
  maxAttempts: number | null;
  onConflict: OnConflict;
  /** With `replace`: due so long after it was first scheduled, at the latest. */
  maxWaitMs?: number | null;
  group: string | null;
  /** JSON text. */
  headers: string | null;
  /** While its key runs, it is kept for when that run has ended. */
  reruns?: boolean;
  /** How it recurs; absent or null: once, or as it did. */
  repeat?: GivenRepeat | null;
}

/** An attempt that is running in this process and may move its own row on. */
export interface OwnAttempt {
  id: number;
  epoch: number;
  latenessMs: number;
}

/** A write that left a row waiting: where and when. */
export interface Placed<Verdict extends string = string> {
  verdict: Verdict;
  id: number;
  /** Undefined where the statement does not say: of what was scheduled the caller knows. */
  group?: string | null | undefined;
  dueMs: number;
  /** Null when the row was not written by this call. */
  epoch: number | null;
  wakeMs: number | null;
  nowMs: number;
  /** A cancel removed what was kept of that key. */
  rerunCancelled?: true;
}

/** What `find` reads; instants in milliseconds since 1970, payload as JSON text. */
export interface FoundRow {
  id: string;
  name: string;
  key: string;
  group: string | null;
  headers: string | null;
  payload: string;
  state: LiveState;
  due_ms: number;
  wake_ms: number | null;
  attempts: number;
  max_attempts: number | null;
  last_error: string | null;
  created_ms: number;
  /** JSON text. */
  repeat: string | null;
  /** JSON text; null: none are kept. */
  attempt_log: string | null;
  /** JSON text; null: it was never moved. */
  move_log: string | null;
  /** When its key is due once more, after this run. */
  rerun_ms: number | null;
}

/** What `list` reads. */
export interface ListedRow extends FoundRow {
  /** JSON text; null: it is dead. */
  waits_for: string | null;
}

/** What `history` reads; instants in milliseconds since 1970. */
export interface HistoryRow {
  id: string;
  name: string;
  key: string | null;
  group: string | null;
  /** JSON text. */
  headers: string | null;
  state: EndState;
  due_ms: number;
  created_ms: number;
  ended_ms: number;
  lateness_ms: number | null;
  attempts: number;
  node: string | null;
  error: string | null;
  /** JSON text; null: none are kept. */
  attempt_log: string | null;
  /** JSON text; null: it was never moved. */
  move_log: string | null;
}

/** A name and key as one text: no name has a space in it. */
export const keyText = ({ name, key }: { name: string; key: string | null }): string =>
  `${name} ${key}`;

/** A row that some node must look at: what the read-ahead keeps, never a payload. */
export interface Wake {
  id: number;
  epoch: number;
  name: string;
  group: string | null;
  /** Milliseconds since 1970 on the database's clock. */
  wakeMs: number;
  /** An earlier attempt ended without a word: its process may have been killed by this row. */
  stalled: boolean;
  /** An earlier attempt failed, perhaps in a batch: it travels in no batch any more. */
  failed: boolean;
  /** A node could not read it, and another one may: it is anyone's. */
  refused?: boolean;
  /** Its process is gone before its lease has ended: it may be taken over. */
  orphaned?: boolean;
}

/** In a page of wakes, added to how the latest attempt ended: a node could not read it. */
export const REFUSED = 4;

/** The rank of a name that is paused: then no id is a node's. */
export const PAUSED = -1;

/** Which rows a node looks after, in the shape of the statements' parameters. */
export interface Shares {
  names: string[];
  counts: number[];
  /** {@link PAUSED} while the name is. */
  ranks: number[];
  /** Whether the group picks the owner of a delay that has one, and not its id. */
  byGroup: boolean[];
  /** Groups of these names that are not looked after now, as {@link groupText}. */
  leftOut: string[];
}

/** A name and a group as one text: no name has a space in it. */
export const groupText = (name: string, group: string | null): string => `${name} ${group ?? ''}`;

/** A group that is '' is the whole name; `untilMs` null: without an end. */
export type Pause = [name: string, group: string, untilMs: number | null];

export interface LoadedPage {
  nodes: [id: string, names: string[]][];
  /** Of the heartbeat before this one under the same name; null: there was none. */
  lastInstance: string | null;
  /** Whether the server that answers knows the lock of this node; null where the node has none. */
  isHeld: boolean | null;
  pauses: Pause[];
  wakes: Wake[];
  /** Where the next page begins; null when this one was empty. */
  cursor: Cursor | null;
  nowMs: number;
  /** The clock again, when all of this had been read. */
  laterMs: number;
}

export interface SweptPage {
  wakes: Wake[];
  /** Where the next page begins; null when everything overdue has been looked at. */
  cursor: Cursor | null;
  /** The wake of the first row from the page's beginning on, whichever node looks after it; null: nothing is overdue, or the page was full. */
  oldestMs: number | null;
  nowMs: number;
}

export interface Cursor {
  wakeMs: number;
  id: number;
}

/*
 * Arrays as Postgres reads them. `pg` writes them too, and quotes each number and searches each text
 * twice: a tenth of all the work of a claim, and a thirtieth of that of a `schedule`.
 *
 * No array holds NULL: where a role has `array_nulls = off`, Postgres reads it as the text "NULL". What is
 * missing travels as a value that cannot occur otherwise, and the SQL makes NULL of it: see below.
 */

/** `{1,2,NaN}` */
export const numbers = (values: readonly number[]): string => `{${values.join()}}`;

/** `{true,false}` */
export const flags = (values: readonly boolean[]): string => `{${values.join()}}`;

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** `{"a","say \"b\""}` */
export const texts = (values: readonly string[]): string => `{${values.map(quoted).join()}}`;

const quoted = (text: string): string =>
  `"${SPECIAL.test(text) ? text.replace(EACH_SPECIAL, '\\$&') : text}"`;

/*
 * What stands in an array for a value that is not there, and the SQL that makes NULL of it. No name, key or
 * instant that a caller may give is one of these.
 */

export const NO_KEY = '';
export const keyOrNull = (column: string): string => `NULLIF(${column}, '')`;

export const NO_MS = Number.NaN;
export const msOrNull = (column: string): string => `NULLIF(${column}, 'NaN')`;

export const NO_INSTANT = '-infinity';
export const instantOrNull = (column: string): string => `NULLIF(${column}, '-infinity')`;

export const NO_MAXIMUM = 0;
export const maximumOrNull = (column: string): string => `NULLIF(${column}, 0)`;

/** A claim that a statement asks for or proves. */
export interface Fence {
  id: number;
  epoch: number;
}

export const fencesOf = (items: readonly Fence[]): [ids: string, epochs: string] => [
  numbers(items.map((item) => item.id)),
  numbers(items.map((item) => item.epoch)),
];

/** What has a name and may have a key. */
interface Keyed {
  readonly name: string;
  readonly key: string | null;
}

/**
 * The items by (name, key), each with its index before: the same order for every caller, whatever
 * its locale, so that two callers lock in the same order.
 */
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

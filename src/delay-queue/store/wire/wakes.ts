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

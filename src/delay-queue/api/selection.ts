import type { DelayHeaders, DelayName, EndState, InTransaction, LiveState } from './delay.js';
import type { Duration } from './times.js';

/** One of a list of delays: by its name and key, or by its `id`, which those without a key have too. */
export type DelayTarget<N extends DelayName = DelayName> =
  { name: N; key: string; id?: never } | { id: string; name?: never; key?: never };

/**
 * Which delays: those of which everything given is true. What is left out may be anything.
 *
 * ```ts
 * { name: 'order.close', keyPrefix: 'shop-7/', state: 'dead', error: 'ECONNREFUSED' }
 * ```
 */
export interface DelayFilter<N extends DelayName = DelayName> {
  /** That name, or one of up to 100. */
  name?: N | readonly N[];
  /** That key, of any name. */
  key?: string;
  /** Keys that begin so. */
  keyPrefix?: string;
  /** That group, of any name. */
  group?: string;
  /** Groups that begin so. */
  groupPrefix?: string;
  /** Carries all of these, with these texts; at least one. It may carry others, too. */
  headers?: DelayHeaders;
  /** Due then or later. */
  dueFrom?: Date;
  /** Due earlier than that. */
  dueBefore?: Date;
  /** A last error that has this text in it, 1 to 1,000 characters, in upper or lower case. */
  error?: string;
  /** That state: `scheduled`, `running`, `retrying` or `dead`; or one of several. */
  state?: LiveState | readonly LiveState[];
  /** `true`: it recurs. `false`: it does not. */
  repeating?: boolean;
}

/** Which delays a story is about, live and ended: those of which everything given is true. */
export type StoryFilter<N extends DelayName = DelayName> = Omit<
  DelayFilter<N>,
  'state' | 'repeating'
>;

/** Which lines of history. */
export interface HistoryFilter<N extends DelayName = DelayName> extends StoryFilter<N> {
  /** How it ended: `completed`, `cancelled`, `discarded` or `superseded`; or one of several. */
  state?: EndState | readonly EndState[];
  /** Ended then or later. */
  endedFrom?: Date;
  /** Ended earlier than that. */
  endedBefore?: Date;
}

/** One page of `history` or `story`. */
export interface HistoryPageOptions extends InTransaction {
  /** 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

/** One page of `list`. */
export interface PageOptions extends InTransaction {
  /** 1 to 1,000. Default 100. */
  limit?: number;
  /** The `id` of the last delay of the page before. */
  after?: string;
}

/** What the groups of `groupStats` are ordered by: `total`, or a field of theirs. */
export type GroupOrder =
  'total' | 'scheduled' | 'running' | 'retrying' | 'dead' | 'overdue' | 'oldestOverdueMs';

/** Which groups `groupStats` answers: those with the most, first. Equal ones follow by name and group. */
export interface GroupStatsOptions extends InTransaction {
  /** Default `overdue`. */
  orderBy?: GroupOrder;
  /** 1 to 1,000. Default 100. */
  limit?: number;
}

/** What a call by a filter has done: how many matched, and how many of these got each verdict. */
export type Counts<Verdict extends string> = { matched: number } & Record<Verdict, number>;

/** What a cancel by a filter did that also ends what runs; each of `matched` counts once. */
export type AbortCounts = Counts<'cancelled' | 'aborted' | 'running' | 'absent'>;

/**
 * Options of a cancel by a filter that also ends what runs: `abortWithin` for each page. `aborted`: cancelled, and its attempt
 * was ended for that. `absent`: its attempt was done first.
 */
export interface AbortMatchingOptions extends MatchingOptions<keyof Omit<AbortCounts, 'matched'>> {
  running: 'abort';
  abortWithin?: Duration;
}

/** Options of a call by a filter, which may take long. */
export interface MatchingOptions<Verdict extends string> extends InTransaction {
  /** Ends the call between two pages of 1,000. What was written stays, unless a `manager` takes it back. */
  signal?: AbortSignal;
  /** Called after each page, and waited for; what it throws ends the call. */
  onProgress?: (counts: Counts<Verdict>) => void;
}

/** Of a pause: of which group, why, and for how long. Left out: the whole name, no reason, until it is resumed. */
export type PauseOptions = InTransaction & {
  group?: string;
  /** Why nothing happens, for a reader: up to 1,000 characters. */
  reason?: string;
} & ({ for?: Duration; until?: never } | { until?: Date; for?: never });

/** Which pause ends: that of the name, or that of one group of it. */
export interface ResumeOptions extends InTransaction {
  group?: string;
}

/** A name, or a group of it, of which no delay begins. */
export interface DelayPause {
  name: string;
  /** `null`: the whole name. */
  group: string | null;
  reason: string | null;
  pausedAt: Date;
  /** `null`: until it is resumed. */
  until: Date | null;
}

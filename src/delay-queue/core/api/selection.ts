import type {
  ChangeOptions,
  DelayHeaders,
  DelayName,
  DelayRecord,
  Duration,
  EndState,
  InTransaction,
  ListedDelay,
  LiveState,
} from './delay.js';

/** One delay in a list: by name and key, or by `id`, which delays without a key have too. */
export type DelayTarget<N extends DelayName = DelayName> =
  | { name: N; key: string; id?: never }
  | { id: string; name?: never; key?: never };

/**
 * Selects delays that match every given field. An omitted field matches anything.
 *
 * ```ts
 * { name: 'order.close', keyPrefix: 'shop-7/', state: 'dead', error: 'ECONNREFUSED' }
 * ```
 */
export interface DelayFilter<N extends DelayName = DelayName> {
  /** This name, or any of up to 100. */
  name?: N | readonly N[];
  /** This key, in any name. */
  key?: string;
  /** Keys with this prefix. */
  keyPrefix?: string;
  /** This group, or any of up to 100, in any name. */
  group?: string | readonly string[];
  /** Groups with this prefix. */
  groupPrefix?: string;
  /** Has all of these headers, with these texts; at least one. It may have others, too. */
  headers?: DelayHeaders;
  /** Due at or after this instant. */
  dueFrom?: Date;
  /** Due before this instant. */
  dueBefore?: Date;
  /** The last error contains this text, 1 to 1,000 characters, ignoring case. */
  error?: string;
  /**
   * The first line of the last error, its first 200 characters, is this; `''`: it has none. `#` stands
   * for any number, id or address: `'Error: order # is gone'`.
   */
  errorLine?: string;
  /** This state, or any of several: `scheduled`, `running`, `retrying`, `dead`. */
  state?: LiveState | readonly LiveState[];
  /** `true`: it recurs. `false`: it does not. */
  repeating?: boolean;
  /** This id, or any of up to 1,000. */
  id?: string | readonly string[];
}

/** Selects the live and ended delays of a story: those that match every given field. */
export type StoryFilter<N extends DelayName = DelayName> = Omit<
  DelayFilter<N>,
  'state' | 'repeating' | 'id'
>;

/** Selects entries of history. */
export interface HistoryFilter<N extends DelayName = DelayName> extends StoryFilter<N> {
  /** This end, or any of several: `completed`, `cancelled`, `discarded`, `superseded`. */
  state?: EndState | readonly EndState[];
  /** Ended at or after this instant. */
  endedFrom?: Date;
  /** Ended before this instant. */
  endedBefore?: Date;
}

/** Selects entries of history by the state of their end. */
export type EndStateFilter<N extends DelayName = DelayName> = Omit<HistoryFilter<N>, 'state'> & {
  state: EndState | readonly EndState[];
};

/** One page of `list`, `history` or `story`. */
export interface PageOptions extends InTransaction {
  /** 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the previous page; of `list`, the `id` of its last delay. */
  after?: string;
  /**
   * `false`: payloads are not read, and `payload` is undefined: for a role that may not read them.
   */
  payload?: boolean;
}

/** Sort key of `groupStats`: `total`, or a field of the groups. */
export type GroupOrder = 'total' | keyof DelayCounts;

/** The groups that `groupStats` returns, highest value first; ties by name and group. */
export interface GroupStatsOptions extends InTransaction {
  /** Default `overdue`. */
  orderBy?: GroupOrder;
  /** 1 to 1,000. Default 100. */
  limit?: number;
}

/** Result of a call by filter: how many delays matched, and how many got each verdict. */
export type Counts<Verdict extends string> = { matched: number } & Record<Verdict, number>;

/** Result of a cancel by filter with `running: 'abort'`. Each of `matched` counts once. */
export type AbortCounts = Counts<'cancelled' | 'aborted' | 'running' | 'absent'>;

/**
 * Options of a cancel by filter with `running: 'abort'`; `abortWithin` is per page. `aborted`:
 * cancelled after its attempt was ended. `absent`: its attempt completed first.
 */
export interface AbortMatchingOptions extends MatchingOptions<keyof Omit<AbortCounts, 'matched'>> {
  running: 'abort';
  abortWithin?: Duration;
}

/** Options of a call by filter, which may take long. */
export interface MatchingOptions<Verdict extends string> extends ChangeOptions {
  /** Ends the call between two pages of 1,000. Written pages stay, unless `manager` rolls back. */
  signal?: AbortSignal;
  /**
   * Called and awaited after each page, with the delays that the page has changed. What it throws
   * ends the call.
   */
  onProgress?: (counts: Counts<Verdict>, changed: ChangedDelay<Verdict>[]) => void;
}

/** Selects what belongs to one person: by key, group or headers. A `name` narrows that. */
export type EraseFilter<N extends DelayName = DelayName> = Pick<
  DelayFilter<N>,
  'name' | 'key' | 'keyPrefix' | 'group' | 'headers'
>;

/** Options of `erase`. */
export interface EraseOptions extends ChangeOptions {
  /** Only counts. Default false. */
  dryRun?: boolean;
  /** `false`: leaves the texts of the dashboard's operations. Default true. */
  operations?: boolean;
  /** Ends the call between two pages. What is erased stays so, unless `manager` rolls back. */
  signal?: AbortSignal;
  /** Called and awaited after each page. What it throws ends the call. */
  onProgress?: (counts: EraseCounts) => void;
}

/** What `erase` has removed, or would remove. */
export interface EraseCounts {
  /** Live delays, dead letters and reruns included. */
  erased: number;
  /** Left: an attempt held them. Each writes history when it ends: erase again then. */
  running: number;
  /** Entries of history. */
  history: number;
  /** Pauses of the group. */
  pauses: number;
  /** Operations of the dashboard whose texts named it; who did what and when stays. */
  operations: number;
}

/** A delay that a call by filter has changed. */
export interface ChangedDelay<Verdict extends string = string> {
  id: string;
  name: string;
  key: string | null;
  verdict: Exclude<Verdict, 'running' | 'absent'>;
}

/** Scope, reason and duration of a pause. Default: the whole name, no reason, until resumed. */
export type PauseOptions = ResumeOptions & {
  /** Shown to readers of the pause, up to 1,000 characters. */
  reason?: string;
} & ({ for?: Duration; until?: never } | { until?: Date; for?: never });

/** Which pause ends: of the name, or of one of its groups. */
export interface ResumeOptions extends ChangeOptions {
  group?: string;
}

/** A paused name or group: none of its delays starts. */
export interface DelayPause {
  name: string;
  /** `null`: the whole name. */
  group: string | null;
  reason: string | null;
  /** Who paused it, as the call said in `by`. */
  by: string | null;
  pausedAt: Date;
  /** `null`: until it is resumed. */
  until: Date | null;
}

/** How many delays are in each state. */
export interface DelayCounts extends Record<LiveState, number> {
  /** How many of those above are due and not started, expired leases included. */
  overdue: number;
  /** How long the oldest of these has been due, in milliseconds; `null` if there is none. */
  oldestOverdueMs: number | null;
}

/** Delays of one name, and the nodes that serve it. */
export interface NameStats extends DelayCounts {
  name: string;
  /** How many of `overdue` a pause of the name or of their group holds. */
  overduePaused: number;
  /** How many of `overdue` a limit of the name or group throttles, if a node serves the name. */
  overdueLimited: number;
  /** The rest of `overdue`: no pause and no limit explains it. */
  late: number;
  /** How long the oldest of these has been due, in milliseconds; `null` if there is none. */
  oldestLateMs: number | null;
  /** Live nodes that serve the name. Delays of a name without a node do not run. */
  nodes: number;
}

/** Delays of one group of a name. */
export interface GroupStats extends DelayCounts {
  name: string;
  group: string;
  /** The name or this group is paused: no delay starts. */
  paused: boolean;
  /** A limit of the name or of this group is full now, as far as is known. */
  limited: boolean;
}

/** A live node. */
export interface NodeStats {
  name: string;
  /** The names it serves. */
  names: string[];
  /** First heartbeat of the process that uses this name now. */
  startedAt: Date;
  /** Its last heartbeat. */
  seenAt: Date;
  /** Delays it holds leases of. */
  running: number;
}

/** What `stats` returns: each name with a delay or a node, each live node, and the pauses. */
export interface DelayStats {
  names: NameStats[];
  nodes: NodeStats[];
  /** Pauses of names and of groups. */
  pauses: DelayPause[];
}

/** A page of ended delays. */
export interface HistoryPage {
  /** Newest first. */
  history: DelayRecord[];
  /** `after` of the next page; `null`: this is the last one. */
  next: string | null;
}

/** A page of a key's story, or of a filter's: first the live delays, then the ended ones. */
export interface KeyStory extends HistoryPage {
  /** Live delays, dead letters included, ordered by id. */
  delays: ListedDelay[];
}

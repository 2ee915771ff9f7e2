import type { DelayRecord, ListedDelay } from './delay.js';
import type { DelayPause } from './selection.js';

/** How many delays are in each state. */
export interface DelayCounts {
  scheduled: number;
  running: number;
  retrying: number;
  dead: number;
  /** Due, and not begun: of those above. A lease that ran out counts too. */
  overdue: number;
  /** For how long the first of these has been due, in milliseconds; `null` when there is none. */
  oldestOverdueMs: number | null;
}

/** Delays of one name, and who is there to run them. */
export interface NameStats extends DelayCounts {
  name: string;
  /** Of `overdue`: a pause of the name or of its group holds them. */
  overduePaused: number;
  /** Of `overdue`, where a node serves the name: a limit of it or of their group is used up, as far as is known. */
  overdueLimited: number;
  /** The rest of `overdue`: neither a pause nor a limit explains it. */
  late: number;
  /** For how long the first of these has been due, in milliseconds; `null` when there is none. */
  oldestLateMs: number | null;
  /** Live nodes that serve the name. With delays and without a node, nothing will happen. */
  nodes: number;
}

/** Delays of one group of a name. */
export interface GroupStats extends DelayCounts {
  name: string;
  group: string;
  /** No delay of it begins: the name is paused, or this group of it. */
  paused: boolean;
  /** A limit of the name or of this group is used up now, as far as is known. */
  limited: boolean;
}

/** A live node. */
export interface NodeStats {
  name: string;
  /** The names that it serves. */
  names: string[];
  /** The first heartbeat of the process that has this name now. */
  startedAt: Date;
  /** Its last heartbeat. */
  seenAt: Date;
  /** Delays that it has leased. */
  running: number;
}

/** What `stats` answers: every name that has a delay or a node, every live node, and what is paused. */
export interface DelayStats {
  names: NameStats[];
  nodes: NodeStats[];
  /** Of names and of groups. */
  pauses: DelayPause[];
}

/** A page of what has ended. */
export interface HistoryPage {
  /** Newest first. */
  history: DelayRecord[];
  /** Where the next page begins: its `after`. `null`: this was the last. */
  next: string | null;
}

/** A page of everything about a business key, or about what matches a filter: first what lives, then what has ended. */
export interface KeyStory extends HistoryPage {
  /** Live delays, dead letters included, in the order of their ids. */
  delays: ListedDelay[];
}

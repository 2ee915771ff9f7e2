import type { DelayRecord, ListedDelay } from './delay.js';
import type { DelayPause } from './selection.js';

/** How many delays are in each state. */
export interface DelayCounts {
  scheduled: number;
  running: number;
  retrying: number;
  dead: number;
  /** Of those above: due and not started. Expired leases count, too. */
  overdue: number;
  /** How long the oldest of these has been due, in milliseconds; `null` if there is none. */
  oldestOverdueMs: number | null;
}

/** Delays of one name, and the nodes that serve it. */
export interface NameStats extends DelayCounts {
  name: string;
  /** Of `overdue`: held by a pause of the name or of their group. */
  overduePaused: number;
  /** Of `overdue`, if a node serves the name: throttled by a limit of the name or group. */
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
  /** Of names and groups. */
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

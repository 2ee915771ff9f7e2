import type { Duration } from './delay.js';
import type { CauseFields } from './explanation.js';

/**
 * - `up`: delays fire when they are due.
 * - `degraded`: they still run, or most of them do, and a person should look.
 * - `down`: this node runs and schedules nothing.
 */
export type HealthStatus = 'up' | 'degraded' | 'down';

/** Fields of all reasons. */
export interface ReasonFields<Name extends string> extends CauseFields<Name> {
  status: Exclude<HealthStatus, 'up'>;
}

/** This node cannot work. */
export type NodeReason =
  /** `starting`, `closing` or `stopped`. */
  | (ReasonFields<'notRunning'> & { state: 'starting' | 'closing' | 'stopped' })
  /** No load has been answered for so long: three times `loadEvery` or more. */
  | (ReasonFields<'loadsMissing'> & { sinceMs: number })
  /** A background task fails: `claim`, `complete`, `begin`, … It is tried again and again. */
  | (ReasonFields<'taskFailing'> & { task: string; forMs: number; error: string })
  /** LISTEN has ended: delays that other processes schedule may be late by a second. */
  | (ReasonFields<'listenLost'> & { forMs: number; error: string })
  /** The database's clock was set, or another server with another clock took over. */
  | (ReasonFields<'clockJumped'> & { byMs: number; agoMs: number })
  /** This node and the database have different rules of that time zone, as seen at first use. */
  | (ReasonFields<'zoneDiffers'> & { zone: string });

/** The backlog and the nodes, as the database knows them. */
export type BacklogReason =
  /**
   * Delays of the name are due, and neither a pause nor a limit holds them. `running` of at most
   * `concurrency` calls run on this node; both are `null` if it does not serve the name.
   */
  | (ReasonFields<'late'> & {
      name: string;
      late: number;
      oldestLateMs: number;
      running: number | null;
      concurrency: number | null;
    })
  /** Delays of the name are due, and no live node serves it. */
  | (ReasonFields<'unserved'> & { name: string; late: number; oldestLateMs: number })
  /** A pause or a limit has held delays of the name for longer than `heldAfter`. */
  | (ReasonFields<'held'> & {
      name: string;
      by: 'pause' | 'limit';
      held: number;
      oldestHeldMs: number;
    })
  /** More dead letters than `deadLettersMax`. Counted up to ten times of that. */
  | (ReasonFields<'deadLetters'> & { dead: number; deadLettersMax: number })
  /**
   * A node has missed three heartbeats and has not left: it was killed, it hangs, or it has lost the
   * database. For five minutes, and the last ten nodes.
   */
  | (ReasonFields<'nodeSilent'> & { node: string; silentMs: number });

/** The database itself. */
export type DatabaseReason =
  /** It did not answer, or refused the statement. */
  | (ReasonFields<'databaseGone'> & { error: string })
  /** It is a standby, or every transaction is read-only. */
  | ReasonFields<'databaseReadOnly'>
  /**
   * A transaction, a replication slot or a prepared transaction keeps vacuum from removing dead
   * rows. Only what this role may see.
   */
  | (ReasonFields<'snapshotHeld'> & { holder: string; forMs: number })
  /** Dead rows or indexes have outgrown the live rows of the table. */
  | (ReasonFields<'bloated'> & { table: string; rows: number; deadRows: number; bytes: number })
  /** Autovacuum is off for the server or for the table. */
  | (ReasonFields<'autovacuumOff'> & { table: string });

/** Why a node is not `up`. */
export type HealthReason = NodeReason | BacklogReason | DatabaseReason;

/** What `DelayHealth` answers. `up` has no reasons; otherwise the worst reason comes first. */
export interface HealthReport {
  status: HealthStatus;
  reasons: HealthReason[];
}

/** What counts as unhealthy. */
export interface HealthOptions {
  /**
   * A delay that has been due for longer is late.
   * @default '1m'
   * @range 1 s to 24 h
   */
  lateAfter?: Duration;
  /**
   * A pause or a limit may hold a delay for so long.
   * @default '24h'
   * @range 1 s to 366 d
   */
  heldAfter?: Duration;
  /**
   * So many dead letters are no reason yet.
   * @default 100
   * @range 0 to 100,000
   */
  deadLettersMax?: number;
  /**
   * A snapshot may be held for so long.
   * @default '10m'
   * @range 1 s to 7 d
   */
  snapshotAfter?: Duration;
}

/**
 * Numbers for metrics. Those of the backlog are as old as `ageMs`: reading them sends no statement,
 * but has the next ones fetched, at most once in five seconds.
 */
export interface DelayFigures {
  /** What runs on this node, by name; empty without a worker. */
  names: NameFigures[];
  /** Delays within the horizon that this node watches, and those of them that wait for a slot. */
  watched: number;
  ready: number;
  /** Since the last load was answered, in ms; `null` before the first, while idle, and without a worker. */
  loadAgeMs: number | null;
  /** The backlog of all nodes; `null` before the first answer, after a failed one, and once it is 3 min old. */
  backlog: BacklogFigures | null;
  /** The engine's own, with those of transactional handlers; without the one that listens. */
  connections: { used: number; idle: number };
}

/** Calls of one name on this node. */
export interface NameFigures {
  name: string;
  running: number;
  /** Claimed ahead, and waiting for a slot. */
  prefetched: number;
  /** Most that run at a time. */
  concurrency: number;
}

/** What waits in the database. Counts end at 100,001. */
export interface BacklogFigures {
  ageMs: number;
  dead: number;
  /** Due within a minute. */
  dueSoon: number;
  /**
   * Delays that are due, by name and by what holds them: of the oldest 10,000 and, of each name that
   * this node serves, up to 10 that wait on it.
   */
  overdue: OverdueFigures[];
}

/** Delays of one name that are due. */
export interface OverdueFigures {
  name: string;
  /** `null`: neither holds them, so they are late. */
  heldBy: 'pause' | 'limit' | null;
  overdue: number;
  /** How long the oldest of them has been due. */
  oldestMs: number;
  /** Whether a live node serves the name. */
  isServed: boolean;
}

/** What Terminus hands out: `HealthIndicatorService.check(key)`. Version 11 has no `degraded`. */
export interface HealthIndicator<Result> {
  up(data: object): Result;
  down(data: object): Result;
  degraded?(data: object): Result;
}

/**
 * What impolite callers do, as data: a seed gives the same program again, and a broken promise is
 * told together with the program that broke it.
 */

/** A key of a name: what calls meet at. */
export interface Slot {
  name: Name;
  key: string;
}

/** Names with a handler; what a delay's handler does stands in its payload. */
export const NAMES = ['test.plain', 'test.fenced', 'test.other'] as const;
export type Name = (typeof NAMES)[number];

/** A delay somebody asks for. */
export interface Wish {
  name: Name;
  key?: string;
  afterMs: number;
  onConflict?: 'replace' | 'keep' | 'error';
  running?: 'rerun';
  maxAttempts?: number;
  script: Script;
}

/** What a handler does: its steps, and how its attempts end. */
export interface Script {
  steps: readonly Step[];
  /** Attempts that fail before one ends well; those that overrun go on after their timeout. */
  fails: number;
  how: 'throws' | 'lingers';
  /** At the COMMIT of its first attempt something of the application's fails, and is swallowed. */
  spoilsCommit?: boolean;
}

export type Call =
  | { verb: 'schedule'; wish: Wish }
  | { verb: 'scheduleMany'; wishes: readonly Wish[] }
  | { verb: 'cancel' | 'retryDead' | 'find'; slot: Slot }
  | { verb: 'reschedule'; slot: Slot; afterMs: number };

/** What can stand in a branch beside other branches. */
export type Leaf =
  /** A row of the caller's own. */
  | { is: 'write' }
  | { is: 'call'; call: Call }
  /** Nothing to do with the database: the branch throws. */
  | { is: 'throws' }
  /** A statement that Postgres refuses. */
  | { is: 'refused' }
  | { is: 'waits'; ms: number };

export type Step =
  | Leaf
  /**
   * Branches side by side on one connection, each from its first leaf to its last.
   * `settled`: all are waited for, and failed ones shrugged off; else the first that fails ends the step.
   * `held`: somebody else holds the lock of that row for a moment meanwhile.
   */
  | { is: 'branches'; branches: readonly (readonly Leaf[])[]; settled: boolean; held?: Slot }
  /** A transaction within: a savepoint, of TypeORM's or by hand, whose end is `undone` or kept. */
  | { is: 'nested'; steps: readonly Step[]; undone: boolean; byHand: boolean }
  /** An error that is swallowed: the transaction is aborted, and whoever made it does not know. */
  | { is: 'swallows' }
  /** A branch nobody waits for. Always the last step. */
  | { is: 'unawaited'; branch: readonly Leaf[] }
  /** Ends a handler's transaction, which is not the handler's to end. */
  | { is: 'ends by hand'; by: string }
  /** Ends a caller's transaction, and begins the next one: all that the caller does from here on is of that one. */
  | { is: 'chains'; by: string; through: 'manager' | 'client' }
  /** Takes from its session all that was prepared on it, the engine's statements too. */
  | { is: 'forgets' }
  /** Keeps the manager, and writes by it when its transaction is long over. */
  | { is: 'keeps manager' }
  /**
   * First begins a timer that lives on, and then somebody else's message comes over it: that call has nothing to do
   * with the transaction around it.
   */
  | { is: 'foreign'; call: Call };

export type Act =
  /** `unanswered`: COMMIT is done, and its answer never comes. */
  | { is: 'transaction'; steps: readonly Step[]; ends: 'commits' | 'throws' | 'unanswered' }
  | { is: 'alone'; call: Call }
  | { is: 'pause'; ms: number }
  /** Takes that many connections of the application's pool, and keeps them. */
  | { is: 'hogs'; connections: number; ms: number }
  /** Any role of the database can say so: wakes of a delay that never were. */
  | { is: 'false hint'; slot: Slot };

/** How the application is set up. */
export interface Setup {
  /** How it says where its database is. */
  way: 'url' | 'fields' | 'password function' | 'replication';
  nodes: 1 | 2;
  poolMax: number;
  connectionTimeoutMs?: number;
  leaseMs: number;
  horizonMs: number;
  loadEveryMs: number;
  concurrency: number;
  /** Volatile timers that wait from the start on, and how many may. */
  volatileTimers?: number;
  /** Connections of its nodes can be cut and silenced. */
  isBehindProxy?: boolean;
  /** What an administrator has set for the database. */
  settings?: Readonly<Record<string, string>>;
}

export interface Program {
  seed: string;
  setup: Setup;
  /** Delays that stand before the sessions begin. */
  before: readonly (Wish & Slot)[];
  /** Each plays its acts one after the other, all sessions at once. */
  sessions: readonly (readonly Act[])[];
}

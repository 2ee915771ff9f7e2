import type { DelayRecord } from './delay.js';
import type { DelayPause } from './selection.js';

/** What every cause has, and every reason of `DelayHealth`. */
export interface CauseFields<Reason extends string> {
  reason: Reason;
  /** One plain English sentence, such as `order.close 42 is due in 12 min 4 s`. For people only. */
  text: string;
}

/**
 * One cause that keeps a delay from firing, or what became of it, told apart by `reason`. Instants
 * and ages are on the database's clock; `null` means that the database does not know.
 *
 * What becomes of the row by itself:
 *
 * - `notDue`: its time has not come. `retrying`: its next attempt's has not. `claimed`: an attempt
 *   holds it whose handler has not been called; only its own node knows. `running`: an attempt holds
 *   it. `orphaned`: an attempt holds it whose process or node is gone.
 * - `dead`: a dead letter. `unreadable`: one that no node could read.
 * - `ended`: no longer live. `absent`: neither live nor in the history that is kept.
 *
 * What holds a due delay back, the strongest first:
 *
 * - `paused`, `unserved` (no live node has a handler), `throttled` (a limit is full), `nodeStalled`
 *   (its owner, or every node that serves it, has missed its heartbeat), `locked` (a transaction of
 *   another session holds its row), and without any of these `queued`: it waits for a slot.
 *
 * `locked` also follows `claimed` and `running`.
 */
export type DelayExplanationCause =
  /** Waits for its time, or for the end of a postponement. */
  | (CauseFields<'notDue'> & {
      /** When a node runs it, at the earliest. Later than `dueAt` only if it was given back. */
      wakeAt: Date;
      inMs: number;
    })
  /** An attempt failed or was lost, and the next one waits for its backoff. */
  | (CauseFields<'retrying'> & {
      nextAt: Date;
      inMs: number;
      /** The attempts so far. */
      attempt: number;
      /** `null`: the handler's. */
      maxAttempts: number | null;
      error: string | null;
    })
  /** Its handler has not been called: the attempt waits for a session. Other nodes say `running`. */
  | (CauseFields<'claimed'> & {
      node: string;
      /** Known only if history keeps attempts. */
      since: Date | null;
      /** When it is given back at the latest. */
      leaseUntil: Date;
      attempt: number;
      /** `null`: the handler's. */
      maxAttempts: number | null;
    })
  | (CauseFields<'running'> & {
      node: string;
      /** Known only if history keeps attempts. */
      since: Date | null;
      /** A plain handler's lease is renewed while it runs. */
      leaseUntil: Date;
      attempt: number;
      /** `null`: the handler's. */
      maxAttempts: number | null;
    })
  /** Another node takes it over when its lease ends; if the attempt was transactional, within 3 s. */
  | (CauseFields<'orphaned'> & {
      node: string;
      leaseEndsAt: Date;
      /** The last heartbeat of the node. `null`: the node has left, or was forgotten. */
      silentSince: Date | null;
      attempt: number;
      /** `null`: the handler's. */
      maxAttempts: number | null;
    })
  | (CauseFields<'paused'> &
      Pick<DelayPause, 'group' | 'pausedAt' | 'by' | 'until'> & {
        /** The reason that `pause` was given. */
        why: string | null;
      })
  | (CauseFields<'unserved'> & {
      /** The node that served the name last, as far as heartbeats of a day and recent history tell. */
      lastServedBy: string | null;
      lastSeenAt: Date | null;
    })
  /** A limit as the last claim left it. The limits themselves are in the code of the nodes. */
  | (CauseFields<'throttled'> & {
      limit: 'concurrency' | 'rate';
      /** `null`: the limit of the whole name. */
      group: string | null;
      /** Attempts that run under it. `null` for a rate. */
      running: number | null;
      /** Attempts that may run under it. `null` for a rate. */
      of: number | null;
      /** When a rate has room again. `null` for a concurrency: when an attempt ends. */
      nextAt: Date | null;
      /** Since then, every claim found it full. */
      since: Date;
    })
  /** Every node that serves it is late with its heartbeat, or the one that owns it: it hangs. */
  | (CauseFields<'nodeStalled'> & {
      /** How long the node that was heard from most recently has been silent. */
      silentMs: number;
      nodes: readonly { name: string; silentMs: number }[];
    })
  /** An open transaction holds a lock. Postgres shows state and age to its own role and `pg_monitor`. */
  | (CauseFields<'locked'> & {
      /**
       * `row`: its row, so that no attempt begins or ends. `attempt`: a lock that its attempt waits
       * for. `self`: its own transaction holds a lock that another connection waits for, which may be
       * its handler's.
       */
      what: 'row' | 'attempt' | 'self';
      /** The session that holds the lock; of `self`, the one that waits. `null`: a prepared transaction. */
      pid: number | null;
      application: string | null;
      /** Such as `idle in transaction`. */
      state: string | null;
      /** Since when its transaction has been open. */
      since: Date | null;
    })
  | (CauseFields<'queued'> & {
      /** Since when it is due. */
      since: Date;
      /** Due delays of its name that wait and come before it. */
      beforeInName: number;
      /** How many of them are of its group. `null`: it has no group. */
      beforeInGroup: number | null;
      /** More than 10,000 delays are due: only the nearest 10,000 were counted. */
      atLeast: boolean;
      /** Live nodes that serve the name, and how many attempts of the name each runs. */
      nodes: readonly { name: string; running: number }[];
    })
  | (CauseFields<'unreadable'> & {
      /** Names the column. */
      error: string;
    })
  | (CauseFields<'dead'> & {
      /** Known only if history keeps attempts. */
      since: Date | null;
      attempts: number;
      error: string | null;
    })
  /** The newest end of that key, or of that id among the newest 10,000 ends. */
  | (CauseFields<'ended'> &
      Pick<DelayRecord, 'state' | 'endedAt' | 'latenessMs' | 'error' | 'node' | 'attempts' | 'by'>)
  | CauseFields<'absent'>;

/** Why a delay has not fired, or what became of it: the first cause, and what else holds it. */
export type DelayExplanation = DelayExplanationCause & {
  /** `null`: no such delay. */
  id: string | null;
  /** `null`: no delay has that id. */
  name: string | null;
  key: string | null;
  group: string | null;
  /** `null`: no such delay. */
  dueAt: Date | null;
  /**
   * What holds it as well, or will hold it when its first cause is over, as things are now: a pause
   * that lasts longer, a missing node; for a due delay also full limits and stalled nodes.
   */
  also: readonly DelayExplanationCause[];
};

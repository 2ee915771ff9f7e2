/**
 * What a client asks of the queue, or of the shop. Each item of a `scheduleMany` is a call of its own.
 *
 * The shop's name no delay: `place` has its `Idempotency-Key` for a key, and when it is acknowledged
 * the order's id for an id; `pay` and `ship` have the order's id for a key.
 */
export type Verb = 'schedule' | 'cancel' | 'reschedule' | 'retryDead' | 'place' | 'pay' | 'ship';

/**
 * One line of a client's log, appended before the call goes out and after its answer came, by the
 * process that made the call. A process that is killed leaves an `invoke` without an answer, which
 * counts as `unknown`.
 *
 * `fail` is for what certainly did not happen: refused by a typed error before anything was written,
 * rolled back on purpose, or broken before COMMIT was sent. All else that went wrong is `unknown`.
 */
export type ClientLine =
  | {
      kind: 'invoke';
      /** Unique in the run. */
      call: string;
      verb: Verb;
      name: string;
      key: string | null;
      /** What `schedule` wrote into the payload: unique per wanted delay, so it names one. */
      token: string | null;
      /** Part of a transaction of the caller's. */
      inTransaction: boolean;
    }
  | { kind: 'ok'; call: string; verdict: string; id: string | null; dueMs: number | null }
  | { kind: 'fail'; call: string; error: string }
  | { kind: 'unknown'; call: string; error: string };

/**
 * Payload of every delay of the chaos run. A handler that schedules another delay gives it a token
 * of its own, made from the parent's, so that it is the same whenever the attempt is repeated.
 */
export interface ChaosPayload {
  token: string;
  /** Token of the delay whose handler scheduled this one. */
  parent?: string;
  /** How many more times a recurring delay moves on, or how long a chain still is. */
  left?: number;
  /** What the handler does, chosen by the producer from the seed. */
  act?: string;
}

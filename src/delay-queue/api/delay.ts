import type { EntityManager } from 'typeorm';
import type { DelayAttempt, DelayMove, DelayWait } from './history.js';
import type { DelayRepeat, Duration, RepeatOptions, When } from './times.js';

/** Why a part of a payload cannot be stored. No value has this type, so the compiler shows the reason. */
export interface NotStorable<Why extends string> {
  readonly __cannotBeStored: Why;
}

/**
 * The type `T` as a payload: `T` itself where it is plain JSON, and {@link NotStorable} in place of each
 * part that is not. `schedule` looks at the value as well, since a type may say less than there is.
 *
 * Optional members are fine as long as they are left out; `undefined` that is handed over is refused.
 * The compiler sees that with `exactOptionalPropertyTypes`, the run time in any case.
 */
export type Storable<T> = T extends StorableParts<T> ? T : StorableParts<T>;

/** Plain JSON, as far as one alias can say it: interfaces and optional members are looked at one by one. */
export type PlainJson =
  | string
  | number
  | boolean
  | null
  | readonly PlainJson[]
  | { readonly [member: string]: PlainJson };

/** {@link Storable}, part by part. */
export type StorableParts<T> = 0 extends 1 & T // any
  ? T
  : T extends PlainJson
    ? T
    : T extends undefined
      ? NotStorable<'undefined: leave it out or send null'>
      : T extends bigint
        ? NotStorable<'a bigint: send it as a string'>
        : T extends symbol
          ? NotStorable<'a symbol'>
          : T extends (...args: never[]) => unknown
            ? NotStorable<'a function'>
            : T extends Date
              ? NotStorable<'a Date: send date.toISOString()'>
              : T extends ReadonlyMap<unknown, unknown>
                ? NotStorable<'a Map: send Object.fromEntries(map)'>
                : T extends ReadonlySet<unknown>
                  ? NotStorable<'a Set: send [...set]'>
                  : T extends object
                    ? StorableMembers<T>
                    : T;

/** Homomorphic, so that arrays stay arrays and optional members optional. */
export type StorableMembers<T extends object> = {
  [K in keyof T]: undefined extends T[K]
    ? Partial<Pick<T, K>> extends Pick<T, K>
      ? StorableParts<Exclude<T[K], undefined>>
      : StorableParts<T[K]>
    : StorableParts<T[K]>;
};

/**
 * What handlers get where a schema makes something else of the payload than what is scheduled, by augmentation as
 * `DelayPayloads`:
 *
 * ```ts
 * declare module 'nestjs-delay-queue' {
 *   interface ParsedPayloads {
 *     'order.close': z.output<typeof closing>;
 *   }
 * }
 * ```
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- exists to be augmented
export interface ParsedPayloads {}

/**
 * Glossary. The same words stand in code, SQL, logs and docs.
 *
 * - **delay**: one row; something that will happen later. **name**: what kind (`order.close`).
 *   **key**: the caller's business key, unique per name. **group**: whom it is for. **headers**: texts beside the payload.
 * - **due**: the instant the caller asked for. **wake**: the next instant at which some node must
 *   look at the row (due, retry, or the end of a lease).
 * - **wheel**, **slot**, **tick**: the in-memory structure. **horizon**: how far ahead it is loaded.
 * - **intake**: the one door for what a node keeps an eye on. **read-ahead**: wakes known in memory.
 *   **ready queue**: what is due; its names take **turns**, and so do its two **lanes**: healthy delays
 *   and **stalled** ones, whose last attempt ended without a word. **overflow**: due, and no room for it.
 * - **share**: the part of the ids that a node looks after; their **owner** is that node.
 *   **presence**: the lock by which a node is seen to live. **hint**: what nodes tell each other by NOTIFY.
 * - **claim**: taking rows to run. **lease**: how long a claim holds. **epoch**: the fencing token,
 *   +1 on every write that starts or ends an attempt, or moves the delay. **lost claim**: one without an
 *   answer, which may have been committed. **lock wait**: how long a statement waits for a row or a key.
 * - **concurrency limit**: calls of a name that may run on a node. **reservation**: the place of one call
 *   under that limit, and the entries that travel in it.
 * - **limit**: what all nodes may begin of a name or group: a **quota**, of which each attempt has a **permit**.
 * - **call**: one call of a handler, with one **attempt** or, of a batch handler, with several. A batch that
 *   fails is **split**: each of its delays runs again alone. **abort**: a cancel ends the attempt first.
 * - **settlement**: writing down how attempts ended: done, **retry** after a **backoff**, or **dead letter**.
 *   **dying**: on the way to that, by its name's `@OnDeadDelay`.
 * - **fence**: proving, inside a transaction, that the claim still holds. **drain**: finishing in-flight
 *   work at shutdown.
 * - **recurrence**: a delay whose row goes on, after each run, to the next of its **instants**. **occurrence**: one of its
 *   runs. **catch-up**: what becomes of instants that were **missed**.
 * - **lateness**: handler start minus due, on the database's clock.
 * - **verdict**: what a write answers.
 */

/**
 * Names and payloads of all delays, typed in one place by augmentation:
 *
 * ```ts
 * declare module 'nestjs-delay-queue' {
 *   interface DelayPayloads {
 *     'order.close': { orderId: string };
 *   }
 * }
 * ```
 *
 * While it is empty every name is allowed and payloads are `unknown`.
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- exists to be augmented
export interface DelayPayloads {}

/** A name declared in {@link DelayPayloads}; any string while none is declared. */
export type DelayName = keyof DelayPayloads extends never
  ? string
  : Extract<keyof DelayPayloads, string>;

/**
 * What `schedule(name, payload)` takes and the handler of `name` gets: what is declared. A member
 * that cannot be stored, such as a `Date`, becomes {@link NotStorable}, which says why.
 */
export type PayloadOf<N extends DelayName> = N extends keyof DelayPayloads
  ? StorablePayloads[N]
  : unknown;

/** What the handler of that name gets: {@link PayloadOf}, unless {@link ParsedPayloads} says otherwise. */
export type ParsedPayloadOf<N extends DelayName> = N extends keyof ParsedPayloads
  ? ParsedPayloads[N]
  : PayloadOf<N>;

/** {@link DelayPayloads}, each looked at. */
export type StorablePayloads = { [N in keyof DelayPayloads]: Storable<DelayPayloads[N]> };

/** {@link PayloadOf} a declared name. While none is declared, whatever is given has to be {@link Storable}. */
export type GivenPayload<N extends DelayName, P> = keyof DelayPayloads extends never
  ? P & Storable<P>
  : PayloadOf<N>;

/**
 * What becomes of a delay of that key that waits: `replace` (default) rewrites it, `keep` leaves it, `error` throws
 * `DelayConflictError`. With `earlier` or `later` the one that is due earlier or later stays, with its payload; of two
 * that are due at the same time the first.
 */
export type OnConflict = 'replace' | 'keep' | 'error' | 'earlier' | 'later';

/** Options of one schedule, beside {@link Due}. */
export interface ScheduleOptions {
  /** Business key, 1 to 255 characters. One live delay per (name, key). */
  key?: string;
  /** What to do when a delay with that key waits already. Default `replace`. */
  onConflict?: OnConflict;
  /**
   * With `replace` and `after`: a delay that is replaced again and again is due so long after it was first scheduled, at the
   * latest. That instant is its `createdAt`, which a replace with `maxWait` leaves as it is. At least `after`.
   */
  maxWait?: Duration;
  /**
   * What becomes of the call while the delay of that key runs. `leave` (default): nothing is written, the verdict is
   * `running`. `rerun`: the key is due once more when that run has ended, with what the last such call says; the verdict
   * is `rerun`.
   *
   * However the run ends, the key never runs twice at once. After a success a new delay is scheduled. A retry, a postponed or
   * released attempt, a dead letter and the attempt of a process that was killed make room, as for `replace`: the call's payload
   * and due time, and all attempts. (Another node may take over the attempt of a killed process first; then it comes after that.)
   * What recurs goes on to recur. Whatever is scheduled for the key after the run is newer and stays. `cancel` removes what is
   * kept, and says `rerunCancelled`. A rollback leaves nothing.
   */
  running?: 'leave' | 'rerun';
  /** Attempts before it becomes a dead letter, 1 to 1,000. Default: the handler's. */
  maxAttempts?: number;
  /**
   * Whom it is for: a tenant, a shop, a customer; 1 to 255 characters. The groups of a name take turns, and can be
   * limited, paused, listed and cancelled.
   */
  group?: string;
  /** What travels beside the payload, a trace's context for one: up to 32 texts, 4 KiB together. */
  headers?: DelayHeaders;
}

/** Names and texts, like those of a request. */
export type DelayHeaders = Readonly<Record<string, string>>;

/**
 * Which transaction a call is part of. With an EntityManager it lives and dies with that one. Left out, or
 * `'own'`, it is a transaction of its own, and so it is with `dataSource.manager`, which is in none; inside a transactional handler a write may not leave it out.
 */
export interface InTransaction {
  manager?: EntityManager | 'own';
}

/**
 * One item of `scheduleMany`. Its type does not ask for the key of one that has both `after` and `repeat`: then a list of items
 * whose names vary could not be given.
 */
export type ScheduleItem<N extends DelayName = DelayName> = {
  [K in N]: { name: K; payload: PayloadOf<K> } & (
    | (When & { repeat?: RepeatOptions })
    | { repeat: RepeatOptions; key: string; after?: never; at?: never }
  ) &
    ScheduleOptions;
}[N];

/** Where a reschedule moves the delay: `extendBy` counts from its present due time, up to the end of the year 9999. */
export type RescheduleTo = When | { extendBy: Duration; after?: never; at?: never };

/** What a handler gets. */
export interface Delay<N extends DelayName = DelayName> {
  id: string;
  name: N;
  key: string | null;
  group: string | null;
  headers: DelayHeaders;
  payload: ParsedPayloadOf<N>;
  dueAt: Date;
  createdAt: Date;
  /** This attempt, counted from 1. */
  attempt: number;
  maxAttempts: number;
  /** Start of this attempt minus due, in milliseconds, on the database's clock. */
  latenessMs: number;
}

/** States of a delay that is still in the table. */
export type LiveState = 'scheduled' | 'running' | 'retrying' | 'dead';

/** States in history. `discarded` is a dead letter that was removed or revived, or an occurrence that failed for good. */
export type EndState = 'completed' | 'cancelled' | 'discarded' | 'superseded';

/** What `find` answers. */
export interface DelayInfo<N extends DelayName = DelayName> {
  id: string;
  name: N;
  key: string | null;
  group: string | null;
  headers: DelayHeaders;
  payload: PayloadOf<N>;
  /** Of `list` and `story`: why the codec cannot decode the payload, which is then undefined. */
  unreadable?: Error;
  state: LiveState;
  dueAt: Date;
  /** When it is looked at next; `null` for a dead letter. */
  wakeAt: Date | null;
  attempts: number;
  /** `null`: the handler's. */
  maxAttempts: number | null;
  lastError: string | null;
  createdAt: Date;
  /** How it recurs; null: once. */
  repeat: DelayRepeat | null;
  /** The last 50, oldest first; empty unless history keeps attempts. */
  attemptLog: DelayAttempt[];
  /** How its due time was moved: the last 20, oldest first. A `schedule` that replaces it begins anew. */
  moveLog: DelayMove[];
  /** When its key is due once more after this run, as `running: 'rerun'` asked; null: it is not. */
  rerunAt: Date | null;
}

/** What `list` and `story` answer. */
export interface ListedDelay extends DelayInfo {
  /** `null`: it is dead, and waits for `retryDead`. */
  waitsFor: DelayWait | null;
}

/** One line of `history`. */
export interface DelayRecord {
  id: string;
  name: string;
  key: string | null;
  group: string | null;
  headers: DelayHeaders;
  state: EndState;
  dueAt: Date;
  createdAt: Date;
  endedAt: Date;
  /** Start of the last attempt minus due; `null` when no attempt started. */
  latenessMs: number | null;
  attempts: number;
  /** The node that ran the attempt that ended it; `null` when none was running. */
  node: string | null;
  error: string | null;
  /** The last 50, oldest first; empty unless history keeps attempts. */
  attemptLog: DelayAttempt[];
  /** How its due time was moved: the last 20, oldest first. A `schedule` that replaces it begins anew. */
  moveLog: DelayMove[];
}

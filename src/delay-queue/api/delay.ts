import type { EntityManager } from 'typeorm';
import type { DelayAttempt, DelayMove, DelayWait } from './history.js';
import type { DelayRepeat, Duration, RepeatOptions, When } from './times.js';

/** Why a part of a payload cannot be stored. No value has this type, so compiler errors show it. */
export interface NotStorable<Why extends string> {
  readonly __cannotBeStored: Why;
}

/**
 * `T` as a payload: `T` itself where it is plain JSON, {@link NotStorable} for each part that is
 * not. `schedule` checks the value as well, because a type can hide what a value holds.
 *
 * Omit optional members without a value: an explicit `undefined` is refused at run time, and by the
 * compiler under `exactOptionalPropertyTypes`.
 */
export type Storable<T> = T extends StorableParts<T> ? T : StorableParts<T>;

/** Plain JSON, as much as one alias can say. Interfaces and optional members are checked apart. */
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

/** Homomorphic: arrays stay arrays, optional members stay optional. */
export type StorableMembers<T extends object> = {
  [K in keyof T]: undefined extends T[K]
    ? Partial<Pick<T, K>> extends Pick<T, K>
      ? StorableParts<Exclude<T[K], undefined>>
      : StorableParts<T[K]>
    : StorableParts<T[K]>;
};

/**
 * What handlers receive where a schema transforms the payload. Declare it by augmentation, like
 * {@link DelayPayloads}:
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
 * Glossary. Code, SQL, logs and docs use these words.
 *
 * What a caller creates:
 *
 * - **delay**: work to run later; one row in Postgres. **payload**: its JSON data. **headers**:
 *   short texts stored beside it. **name**: the kind of work, like `order.close`; one handler
 *   serves it.
 * - **key**: the caller's business key; a name has at most one live delay per key. **group**: the
 *   tenant, shop or customer that the delay is for.
 * - **recurrence**: a delay that repeats. After each run, its row moves to its next **instant**.
 *   **occurrence**: one run. **catch-up**: what happens to instants that were **missed**.
 * - **verdict**: the result of a write, like `scheduled` or `running`.
 *
 * When, always on the database's clock:
 *
 * - **due**: when the caller wants the delay to run. **lateness**: handler start minus due.
 * - **wake**: when some node must next read the row: due time, retry, or the end of a lease.
 * - **horizon**: how far ahead a node reads wakes into memory. **read-ahead**: these wakes, a
 *   cache.
 *
 * From the row to the handler:
 *
 * - **timing wheel**: the in-memory timer of the read-ahead; its **slots** hold the wakes of one or
 *   more **ticks** of 1 ms. **timer queue**: the wheel and the ready queue behind one interface.
 * - **ready queue**: delays that are due and not yet claimed. It is a **fair queue**: round robin
 *   over names, over the groups of a name, and over two **lanes**, healthy and stalled.
 * - **stalled**: the last lease ended without a result; the process was killed or paused.
 * - **overflow**: due delays that do not fit in memory. The **scanner** finds them again.
 * - **concurrency limit**: calls of a name that one node may run; each takes a slot.
 *   **reservation**: the slot of one call, with its delays. **prefetched**: claimed shortly before
 *   a slot is free.
 * - **limit**: what all nodes together may start of a name or group, kept as a **quota** of which
 *   each attempt holds a **permit**. **throttled**: held back by a limit.
 *
 * One attempt:
 *
 * - **claim**: the statement that takes rows to run. **lease**: how long the claim holds.
 *   **epoch**: the fencing token, +1 on every write that starts or ends an attempt, or moves the
 *   delay. **fence**: the check, inside a transaction, that the claim still holds.
 * - **missed claim**: a row that a claim asked for and did not get. **lost claim**: a claim without
 *   an answer; it may have committed. **lock wait**: how long a statement waits for a row or key.
 * - **call**: one call of a handler: one **attempt**, or several in a batch. **split**: a batch
 *   failed, and each of its delays runs again alone. **abort**: a cancel that first ends the
 *   attempt.
 * - **outcome**: how an attempt ended. The **completer** writes it: done, **retry** after a
 *   **backoff**, or **dead letter**. **exhausted**: no attempt is left.
 *
 * Several nodes:
 *
 * - **owner**: the node responsible for a delay. **share**: all delays of an owner.
 * - **presence**: the session lock that shows that a node is alive. **hint**: a NOTIFY between
 *   nodes, which only causes a read and is never needed for correctness.
 * - **drain**: finishing the calls in flight at shutdown.
 */

/**
 * Names and payloads of all delays, declared in one place by augmentation:
 *
 * ```ts
 * declare module 'nestjs-delay-queue' {
 *   interface DelayPayloads {
 *     'order.close': { orderId: string };
 *   }
 * }
 * ```
 *
 * While it is empty, every name is allowed and payloads are `unknown`.
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- exists to be augmented
export interface DelayPayloads {}

/** A name declared in {@link DelayPayloads}, or any string while none is declared. */
export type DelayName = keyof DelayPayloads extends never
  ? string
  : Extract<keyof DelayPayloads, string>;

/**
 * The declared payload of a name: what `schedule` takes and the handler receives. A member that
 * cannot be stored, such as a `Date`, becomes {@link NotStorable}, which holds the reason.
 */
export type PayloadOf<N extends DelayName> = N extends keyof DelayPayloads
  ? StorablePayloads[N]
  : unknown;

/** What the handler of a name receives: {@link PayloadOf}, unless {@link ParsedPayloads} has it. */
export type ParsedPayloadOf<N extends DelayName> = N extends keyof ParsedPayloads
  ? ParsedPayloads[N]
  : PayloadOf<N>;

/** {@link DelayPayloads} with each payload checked by {@link Storable}. */
export type StorablePayloads = { [N in keyof DelayPayloads]: Storable<DelayPayloads[N]> };

/** {@link PayloadOf} a declared name. While none is declared, any {@link Storable} payload. */
export type GivenPayload<N extends DelayName, P> = keyof DelayPayloads extends never
  ? P & Storable<P>
  : PayloadOf<N>;

/**
 * What happens to a waiting delay of the same key. `replace` (default) rewrites it, `keep` leaves
 * it, `error` throws `DelayConflictError`. `earlier` and `later` keep whichever delay is due
 * earlier or later, with its payload; if both are due at the same time, the existing one stays.
 */
export type OnConflict = 'replace' | 'keep' | 'error' | 'earlier' | 'later';

/** Options of one `schedule`, beside {@link Due}. */
export interface ScheduleOptions {
  /** Business key, 1 to 255 characters. At most one live delay per (name, key). */
  key?: string;
  /** What happens to a waiting delay of the same key. Default `replace`. */
  onConflict?: OnConflict;
  /**
   * Caps a debounce, with `replace` and `after`: however often the delay is replaced, it is due at
   * most this long after it was first scheduled. That instant is its `createdAt`, which a replace
   * with `maxWait` keeps. Must be at least `after`.
   */
  maxWait?: Duration;
  /**
   * What this call does while the delay of that key runs. `leave` (default) writes nothing and
   * returns `running`. `rerun` makes the key due once more after this run, with the payload and
   * options of the last such call, and returns `rerun`.
   *
   * The key never runs twice at once. After a successful run, the call becomes a new delay. After
   * any other end (a retry, a postponed or released attempt, a dead letter, a killed process) the
   * call replaces what is left, as `replace` does: its payload and due time, and all attempts. If
   * another node takes over the attempt of a killed process first, the call waits for that attempt
   * as well. A recurring delay goes on recurring afterwards.
   *
   * A `schedule` of the key after the run is newer and wins. `cancel` removes the kept call and
   * returns `rerunCancelled`. A rollback leaves no trace of it.
   */
  running?: 'leave' | 'rerun';
  /** Attempts before it becomes a dead letter, 1 to 1,000. Default: the handler's. */
  maxAttempts?: number;
  /**
   * The tenant, shop or customer it is for, 1 to 255 characters. The groups of a name take turns;
   * each can be limited, paused, listed and cancelled.
   */
  group?: string;
  /** Texts stored beside the payload, such as a trace context: at most 32, 4 KiB together. */
  headers?: DelayHeaders;
}

/** Texts by name, like the headers of a request. */
export type DelayHeaders = Readonly<Record<string, string>>;

/**
 * The transaction of a call. With an EntityManager, the call commits and rolls back with that
 * transaction. Omitted or `'own'`, the call has its own transaction; so has a call with
 * `dataSource.manager`, which is in none. Inside a transactional handler, a write must name one.
 */
export interface InTransaction {
  manager?: EntityManager | 'own';
}

/**
 * One item of `scheduleMany`. A missing `key` beside both `after` and `repeat` is found at run time
 * only: a type that requires it would refuse lists of items with varying names.
 */
export type ScheduleItem<N extends DelayName = DelayName> = {
  [K in N]: { name: K; payload: PayloadOf<K> } & (
    | (When & { repeat?: RepeatOptions })
    | { repeat: RepeatOptions; key: string; after?: never; at?: never }
  ) &
    ScheduleOptions;
}[N];

/**
 * Where `reschedule` moves the delay. `extendBy` counts from its due time and stops at the end of
 * the year 9999.
 */
export type RescheduleTo = When | { extendBy: Duration; after?: never; at?: never };

/** What a handler receives. */
export interface Delay<N extends DelayName = DelayName> {
  id: string;
  name: N;
  key: string | null;
  group: string | null;
  headers: DelayHeaders;
  payload: ParsedPayloadOf<N>;
  dueAt: Date;
  createdAt: Date;
  /** Number of this attempt, from 1. */
  attempt: number;
  maxAttempts: number;
  /** Start of this attempt minus due, in milliseconds, on the database's clock. */
  latenessMs: number;
}

/** States of a delay in the table. */
export type LiveState = 'scheduled' | 'running' | 'retrying' | 'dead';

/** States in history. `discarded`: a dead letter removed or revived, or a failed occurrence. */
export type EndState = 'completed' | 'cancelled' | 'discarded' | 'superseded';

/** What `find` returns. */
export interface DelayInfo<N extends DelayName = DelayName> {
  id: string;
  name: N;
  key: string | null;
  group: string | null;
  headers: DelayHeaders;
  payload: PayloadOf<N>;
  /** From `list` and `story`: why the codec cannot decode the payload, which is then undefined. */
  unreadable?: Error;
  state: LiveState;
  dueAt: Date;
  /** When a node reads it next; `null` for a dead letter. */
  wakeAt: Date | null;
  attempts: number;
  /** `null`: the handler's. */
  maxAttempts: number | null;
  lastError: string | null;
  createdAt: Date;
  /** How it recurs; `null`: it runs once. */
  repeat: DelayRepeat | null;
  /** The last 50, oldest first. Empty unless history keeps attempts. */
  attemptLog: DelayAttempt[];
  /** Its last 20 moves, oldest first. A `schedule` that replaces the delay clears them. */
  moveLog: DelayMove[];
  /** When its key is due once more after this run, by `running: 'rerun'`; `null`: it is not. */
  rerunAt: Date | null;
}

/** What `list` and `story` return. */
export interface ListedDelay extends DelayInfo {
  /** `null`: it is a dead letter, and waits for `retryDead`. */
  waitsFor: DelayWait | null;
}

/** One entry of `history`. */
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
  /** Start of the last attempt minus due, in milliseconds; `null` if none started. */
  latenessMs: number | null;
  attempts: number;
  /** The node of the attempt that ended it; `null` if none was running. */
  node: string | null;
  error: string | null;
  /** The last 50, oldest first. Empty unless history keeps attempts. */
  attemptLog: DelayAttempt[];
  /** Its last 20 moves, oldest first. A `schedule` that replaces the delay clears them. */
  moveLog: DelayMove[];
}

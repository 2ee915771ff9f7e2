import type { EntityManager } from 'typeorm';

/**
 * How an attempt ended.
 *
 * - `completed`, `failed`. The last attempt of a dead letter is `failed`, too.
 * - `postponed`: its handler threw `PostponeDelay`. `superseded`: it rescheduled its own key.
 * - `split`: its batch failed, and each delay of the batch ran again alone.
 * - `released`: given back at shutdown. `aborted`: by `cancel(…, { running: 'abort' })`.
 * - `running`: not ended. `lost`: no outcome was written, because its process died or was paused.
 */
export type AttemptOutcome =
  | 'completed'
  | 'failed'
  | 'postponed'
  | 'superseded'
  | 'split'
  | 'released'
  | 'aborted'
  | 'running'
  | 'lost';

/** One attempt, recorded by `history: { attempts: true }`. Instants are on the database's clock. */
export interface DelayAttempt {
  /** Counted from 1. The attempt after one that was given back has the same number. */
  attempt: number;
  outcome: AttemptOutcome;
  node: string;
  /** When it was claimed, shortly before its handler was called. */
  startedAt: Date;
  /** When its outcome was written, shortly after its handler ended; `null` while unknown. */
  endedAt: Date | null;
  /** For `failed` and `split`: the first 1,000 characters. */
  error: string | null;
}

/**
 * What moved the due time of a live delay.
 *
 * - `reschedule`: `reschedule` or `rescheduleMany`, of `DelayService` or `DelayAdmin`.
 * - `postpone`: its handler threw `PostponeDelay`.
 * - `runNow`, `retryDead`: the calls of that name.
 * - `declaration`: a `@RepeatDelay` with a changed schedule.
 * - `catchUp`: instants of a recurring delay were left out before it.
 * - `timeZone`: a node with newer rules of its time zone keeps its time of day.
 */
export type MoveCall =
  | 'reschedule'
  | 'postpone'
  | 'runNow'
  | 'retryDead'
  | 'declaration'
  | 'catchUp'
  | 'timeZone';

/** One move of a delay's due time. Instants are on the database's clock. */
export interface DelayMove {
  call: MoveCall;
  /** When the move happened. */
  at: Date;
  from: Date;
  to: Date;
  /** Who asked for it, as the call said in `by`. */
  by: string | null;
  /** For `catchUp`: how many instants a recurring delay skipped, starting at `from`; up to 1,000. */
  skipped?: number;
}

/**
 * What a live delay waits for, as the database knows it. The first of several causes counts: its
 * time (`due`, `retry`) or a running attempt, a pause, a missing node, a limit, its turn. So a
 * delay that is paused and throttled waits for the pause. `until` is null if only a change ends the
 * wait.
 */
export type DelayWait =
  /** Its time has not come; with `retry`, the time of its next attempt. */
  | { what: 'due' | 'retry'; until: Date }
  /** An attempt runs on that node, which holds the delay at least until then. */
  | { what: 'attempt'; node: string; until: Date }
  /** It is due, and its name or group is paused. Of two pauses, the one that ends last. */
  | { what: 'pause'; group: string | null; reason: string | null; since: Date; until: Date | null }
  /** It is due, and no live node serves its name. */
  | { what: 'node'; since: Date }
  /**
   * It is due, and a limit is full: that of its name (`group: null`), otherwise that of its group.
   * `since`: from when every claim found it full. `until`: when its rate allows more; `null`: when
   * an attempt ends.
   */
  | { what: 'limit'; group: string | null; since: Date; until: Date | null }
  /** It is due, and no cause above applies: its handlers are busy, slow or hanging. */
  | { what: 'turn'; since: Date };

/**
 * Milliseconds, or a text of the `ms` package: `'250ms'`, `'90s'`, `'30m'`, `'48h'`, `'14d'`. Any
 * text compiles, because it may come from configuration; it is checked when used. What has two
 * readings is refused: `'60'` (seconds?), `'1M'` (a month?), `'1y'` (365 days?), `Date.now()`.
 */
export type Duration = number | string;

/** When it recurs: at a fixed interval, or by the wall clock of a time zone. */
export type RepeatInterval =
  | {
      /**
       * Interval between two runs, counted from the first due time; give this or `cron`.
       *
       * The first due time is one interval after the first declaration or `schedule`.
       * @range 1 s to 100 years
       */
      every: Duration;
      cron?: never;
      timeZone?: never;
    }
  | {
      /** Five fields, like `0 3 * * *`, or six with the seconds first. */
      cron: string;
      /**
       * IANA time zone of `cron`, like `Europe/Berlin`; never that of the machine.
       * @default 'UTC'
       */
      timeZone?: string;
      every?: never;
    };

/** When it recurs, and what happens to missed instants. */
export type RepeatRule = RepeatInterval & {
  /**
   * Runs for missed instants: `'latest'` one for all, `'each'` one each, `'none'` none.
   *
   * An instant that passes during a run is missed, too. `latest`: due at the last of them. `none`: runs
   * that could not start within a minute are skipped.
   * @default 'latest'
   */
  catchUp?: CatchUp;
};

/** What `schedule` takes as `repeat`. */
export type RepeatOptions = RepeatRule & RepeatEnd;

/** When a recurrence of a call ends by itself. Without these, it goes on until it is cancelled. */
export interface RepeatEnd {
  /**
   * The end of the recurrence: no run is due later. A duration counts from the call.
   * @range not before the first run
   */
  until?: Date | Duration;
  /**
   * How many times it runs. A run counts once, however many attempts it takes; a missed instant does
   * not count.
   * @range 1 to 1,000,000
   */
  limit?: number;
}

/** What happens to missed instants: one run for all of them, one for each, or none. */
export type CatchUp = 'latest' | 'each' | 'none';

/** How a delay recurs: an interval in milliseconds, or the wall clock of a time zone. */
export type DelayRepeat = { catchUp: CatchUp; until?: Date; limit?: number } & (
  | { every: number }
  | { cron: string; timeZone: string }
);

/** When a delay is due: `after` counts from the database's clock, `at` is an absolute instant. */
export type When = { after: Duration; at?: never } | { at: Date; after?: never };

/**
 * A recurring delay: one row with a key, whatever the number of nodes. Without `after` or `at`, its
 * first run is one interval from now, or at the next instant of `cron`.
 */
export type Recurring = {
  /** How it recurs. */
  repeat: RepeatOptions;
  key: string;
  onConflict?: 'replace' | 'keep' | 'error';
  maxWait?: never;
  running?: never;
} & (When | { after?: never; at?: never });

/** When a delay is due: once, or repeatedly. */
export type Due = (When & { repeat?: never }) | Recurring;

/** Why a part of a payload cannot be stored. No value has this type, so compiler errors show it. */
export interface NotStorable<Why extends string> {
  readonly __cannotBeStored: Why;
}

/**
 * `T` as a payload: `T` itself where it is plain JSON, {@link NotStorable} for each part that is not.
 * `schedule` checks the value as well. Omit optional members without a value: `undefined` is refused.
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
 *   more **ticks** of a quarter of a millisecond. **timer queue**: the wheel and the ready queue behind one interface.
 * - **ready queue**: delays that are due and not yet claimed. It is a **fair queue**: round robin
 *   over names, over the groups of a name, and over two **lanes**, healthy and stalled.
 * - **stalled**: the last lease ended without a result; the process was killed or paused.
 * - **overflow**: due delays that do not fit in memory. The **scanner** finds them again.
 * - **concurrency limit**: calls of a name that one node may run; each takes a slot.
 *   **admission**: how much of a name the next claim may ask for. **prefetched**: claimed shortly
 *   before a slot is free.
 * - **limit**: what all nodes together may start of a name or group, kept as a **quota** of which
 *   each attempt holds a **permit**. **throttled**: held back by a limit.
 *
 * One attempt:
 *
 * - **claim**: the statement that takes rows to run. **lease**: how long the claim holds.
 *   **epoch**: the fencing token, +1 on every write that starts or ends an attempt, or moves the
 *   delay. **fence**: the check, inside a transaction, that the claim still holds: its removal by epoch.
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
   * The key never runs twice at once. After a successful run, the call becomes a new delay. After any
   * other end, such as a retry or a dead letter, it replaces what is left, as `replace` does. If another
   * node takes over the attempt of a killed process first, the call waits for that attempt as well.
   *
   * A `schedule` of the key after the run is newer and wins. `cancel` removes the kept call and returns
   * `rerunCancelled`.
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
 * What runs statements in an open transaction of another library: `fromPrisma(tx)` and the like, from
 * `nestjs-delay-queue/adapters`, or a client of `pg` in a transaction.
 */
export interface DelayTransaction {
  /**
   * Sends one statement. Its placeholders are `$1`, `$2` and so on, each once and in that order.
   * @returns its rows, or a result with `rows`, as `pg` answers
   */
  query(
    text: string,
    values: (string | null)[],
  ): PromiseLike<readonly object[] | { rows: readonly object[] }>;
  /** The library's object for this transaction alone. Default: none, as for a client of `pg`. */
  readonly transaction?: object;
}

/**
 * The transaction of a call. With an EntityManager, or with `tx` of another library, the call commits
 * and rolls back with that transaction. Without both, or with `manager: 'own'`, the call has its own
 * transaction; so has a call with `dataSource.manager`, which is in none. Inside a transactional
 * handler, a write must name one.
 */
export interface InTransaction {
  manager?: EntityManager | 'own';
  tx?: DelayTransaction;
}

/** Options of a call that changes a delay. */
export interface ChangeOptions extends InTransaction {
  /**
   * Who asks for it: an operator, a request, a ticket; 1 to 255 characters. Kept beside what the
   * call writes: in `moveLog`, in the history of a cancelled or discarded delay, in a pause.
   */
  by?: string;
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
  /** Runs that are left of its `limit`; missing without one. */
  runsLeft?: number;
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
export interface DelayRecord extends Pick<
  DelayInfo,
  'id' | 'key' | 'group' | 'headers' | 'dueAt' | 'createdAt' | 'attempts' | 'attemptLog' | 'moveLog'
> {
  name: string;
  state: EndState;
  endedAt: Date;
  /** Start of the last attempt minus due, in milliseconds; `null` if none started. */
  latenessMs: number | null;
  /** The node of the attempt that ended it; `null` if none was running. */
  node: string | null;
  error: string | null;
  /** Who cancelled or discarded it, as the call said in `by`. */
  by: string | null;
}

/** Options of a cancel. */
export interface CancelOptions extends ChangeOptions {
  /**
   * What happens to a delay that runs. `leave` (default) returns `running`. `abort` aborts
   * `ctx.signal`, rolls back a transactional attempt, and cancels the delay when the attempt has
   * ended.
   */
  running?: 'leave' | 'abort';
  /** How long `abort` waits for that, 1 ms to 1 h; then it returns `running`. Default `'5s'`. */
  abortWithin?: Duration;
}

/**
 * - `scheduled`: a new delay waits.
 * - `replaced`: the waiting delay of that key got the new payload and time.
 * - `kept`: the waiting delay of that key is unchanged (`onConflict: 'keep'`).
 * - `running`: an attempt holds the delay of that key; nothing was written.
 * - `rerun`: as `running`, but the key is due once more after this run (`running: 'rerun'`).
 *
 * `id` and `dueAt` are those of the delay in the table. For `rerun`, `id` is the running delay's,
 * and `dueAt` is when the key is due once more.
 */
export interface ScheduleResult {
  verdict: 'scheduled' | 'replaced' | 'kept' | 'running' | 'rerun';
  id: string;
  dueAt: Date;
}

/**
 * - `cancelled`: no attempt starts any more, and none can commit.
 * - `running`: an attempt holds the delay; the business row decides. With `running: 'abort'`, the
 *   attempt did not end within `abortWithin`.
 * - `absent`: no delay has that key.
 *
 * `rerunCancelled`: the key was due once more after this run, and no longer is.
 */
export type CancelResult =
  | { verdict: 'cancelled'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date; rerunCancelled?: true }
  | { verdict: 'absent' };

/** Like {@link CancelResult}, but a dead letter counts as `absent` (see `retryDead`). */
export type RescheduleResult =
  | { verdict: 'rescheduled'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date }
  | { verdict: 'absent' };

/** `retried`: the dead letter is due now, with all attempts. `absent`: that key has none. */
export type RetryDeadResult =
  | { verdict: 'retried'; id: string; dueAt: Date }
  | { verdict: 'absent' };

/** `discarded`: the dead letter is gone. `absent`: that key or id has none. */
export type DiscardDeadResult =
  | { verdict: 'discarded'; id: string; dueAt: Date }
  | { verdict: 'absent' };

/**
 * - `due`: it no longer waits. `dueAt` is now, or earlier if it was due already.
 * - `running`: an attempt holds the delay; nothing was written.
 * - `absent`: no delay waits under that key or id. Dead letters do not count (see `retryDead`).
 */
export type RunNowResult =
  | { verdict: 'due'; id: string; dueAt: Date }
  | { verdict: 'running'; id: string; dueAt: Date }
  | { verdict: 'absent' };

/** Second argument of a plain handler. */
export interface DelayContext {
  /** Aborts at the timeout, on a lost lease, and at shutdown; `signal.reason` is the cause. */
  signal: AbortSignal;
  /**
   * Makes this run of a recurring delay its last: if it completes, the delay ends. If it fails, the
   * delay goes on. A delay that is due once ends anyway.
   *
   * ```ts
   * if (order.isShipped) ctx.stopRepeating();
   * ```
   * @param delay of a batch: the one that ends; without it, all do
   * @throws DelayInvalidError if a `@RepeatDelay` declares it, or the run is over
   */
  readonly stopRepeating: (delay?: Delay) => void;
}

/** A client of `pg` as far as a handler needs it; `ctx.client as PoolClient` is the whole one. */
export interface AttemptClient {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>;
  release(): void;
}

/** Second argument of a transactional handler. */
export interface TransactionalDelayContext extends DelayContext {
  /**
   * The attempt's transaction: it commits what is written through it together with the delay's
   * removal. It ends with the handler and then refuses everything: await all writes.
   */
  manager: EntityManager;
  /**
   * The client of `pg` of that transaction, for plain SQL, Drizzle, Kysely or Knex. It refuses to end
   * the transaction; `release` does nothing.
   */
  client: AttemptClient;
}

/** Second argument of a handler with `transactional: 'own'`. */
export interface OwnTransactionDelayContext extends DelayContext {
  /**
   * Removes the delay in that transaction, as its last statement. If the transaction commits, the delay
   * has completed; if it rolls back, the delay runs again.
   *
   * ```ts
   * await prisma.$transaction(async (tx) => {
   *   await tx.order.update({ where: { id }, data: { status: 'CLOSED' } });
   *   await ctx.complete(fromPrisma(tx));
   * });
   * ```
   * @throws DelayLeaseLostError when another attempt has the delay: the transaction must roll back
   */
  readonly complete: (tx: DelayTransaction) => Promise<void>;
}

/** Second argument of a method with `@OnDeadDelay`. `manager`: the transaction that writes the dead letter. */
export interface DeadDelayContext extends TransactionalDelayContext {
  /** The error of the last attempt as the row keeps it, or that its process died. */
  error: string;
  /** What the handler threw. `undefined` when the method is called again, or the process died. */
  cause: unknown;
}

/**
 * Second argument of a batch handler. If the call resolves, its delays complete, except those
 * passed to `fail` or `postpone`. If it throws, each delay runs again at once, alone; no attempt is
 * spent.
 */
export interface DelayBatchContext extends DelayContext {
  /**
   * Fails one delay as if its own handler had thrown `error`: it is retried after its backoff, or
   * with `DiscardDelay` becomes a dead letter. What was written for it is not undone.
   * @throws DelayInvalidError for a delay of another batch, or after the batch has ended
   */
  readonly fail: (delay: Delay, error: unknown) => void;
  /**
   * Runs one delay of the batch again later and spends no attempt: `fail` with a `PostponeDelay`.
   * @throws DelayInvalidError as `fail`, and for an invalid duration
   */
  readonly postpone: (delay: Delay, after: Duration) => void;
}

/** Second argument of a transactional batch handler. */
export interface TransactionalDelayBatchContext extends DelayBatchContext {
  /** The batch's transaction: writes through it commit together with the removal of its delays. */
  manager: EntityManager;
  /** See {@link TransactionalDelayContext.client}. */
  client: AttemptClient;
}

/** One call of a handler as middleware sees it: for one delay, or for those of a batch. */
export interface DelayCall<N extends DelayName = DelayName> {
  readonly name: N;
  /** The delay of the handler, or all delays of its batch. */
  readonly delays: readonly [Delay<N>, ...Delay<N>[]];
  /** The handler's `ctx.signal`. */
  readonly signal: AbortSignal;
  /** The attempt's transaction, for a transactional handler. */
  readonly manager: EntityManager | undefined;
}

/**
 * Middleware around a call of a handler, inside the attempt: it shares the attempt's timeout,
 * transaction and outcome. What it throws fails the attempt as if the handler had thrown it,
 * including `DiscardDelay` and `PostponeDelay`. The attempt ends when both have ended.
 *
 * ```ts
 * const traced: AroundFunction = (call, next) => tracer.startActiveSpan(call.name, next);
 * ```
 * @param next calls the next `around`, or the handler; to be called once. It resolves when that has
 * ended, and rejects with what that threw
 * @returns a promise; its value is ignored
 */
export type AroundFunction = (call: DelayCall, next: () => Promise<void>) => Promise<unknown>;

/** A function, or an object with a method `around`, such as an injected provider. */
export type DelayAround = AroundFunction | { around: AroundFunction };

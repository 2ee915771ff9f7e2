import type { DelayEvents } from '../api/events.js';
import type { Handler, HandlerRegistry } from '../handlers/handler.registry.js';
import type { StatementSize } from '../store/statement-size.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import type { Deadline } from '../timer-wheel/wheel.service.js';
import type { Call } from './call.js';

/** A prefetched delay begins within this time, if handlers of its name take as long as before. */
const BEGINS_WITHIN_MS = 20;

/** Weights of a longer and of a shorter call in the mean: better to prefetch too few. */
const LONGER = 1 / 4;
const SHORTER = 1 / 16;

/** Overrunning handlers of one name (past their timeout and still running) until it cools down. */
const OVERRUNNING_MAX = 1_000;

/** Few enough to report the next cool-down: a name may cool down with every timeout. */
const WELL_AGAIN = OVERRUNNING_MAX / 2;

/** A limit over all nodes that had no slot left at the last claim. */
export interface Throttle {
  readonly of: NameState;
  /** '' is the whole name. */
  readonly group: string;
  untilMs: number;
  /** Ends when a running attempt does, not only by time. */
  isFull: boolean;
  end?: Deadline;
  /** By name and number of the group, as hints of other nodes give it. */
  numbered?: string;
}

/** A prefetched call that waits for its slot. */
export interface WaitingCall {
  readonly call: Call;
  readonly admitted: { takeSlot(): boolean };
  /** `performance.now()` when its claim was answered. */
  readonly sinceMs: number;
}

/**
 * What this node knows of one name: found once, then passed on. One name, one object; `lane` would
 * be taken: a ready queue has two of those, one for stalled delays.
 */
export class NameState {
  /** Delays in the ready queue, without stalled ones. */
  due = 0;
  stalledDue = 0;
  /** Calls that have a slot. */
  running = 0;
  /** Handlers that run although their attempt is over. */
  overrunning = 0;
  isCoolDownReported = false;
  /** Calls that are claimed, or being claimed, and have no slot. */
  prefetched = 0;
  /** Of these, those whose claim is in flight. */
  asked = 0;
  /** How long a call takes; Infinity: not known yet. */
  meanMs = Infinity;
  /** Running calls of a batch. */
  batches = 0;
  /** `performance.now()` when the last of them began. */
  batchBeganAtMs = -Infinity;
  /** Of a name whose claims failed or were slow. */
  claimSize: StatementSize | undefined;
  /** By group; '' is the whole name. */
  readonly throttles = new Map<string, Throttle>();
  /** Prefetched calls in the order in which they begin. */
  waiting = new Set<WaitingCall>();
  /** The loop is beginning them. */
  isBeginning = false;
  /**
   * Not in batches, in transactions or under limits. Nor if its only attempt could be lost: a
   * process that dies spends the attempts that wait in it.
   */
  readonly #mayPrefetch: boolean;

  constructor(readonly handler: Handler) {
    const { transactional, batch, limits, maxAttempts } = handler;
    this.#mayPrefetch = !transactional && batch === null && limits === null && maxAttempts > 1;
  }

  get name(): string {
    return this.handler.name;
  }

  /** So many handlers overrun that none may begin. */
  get mustCoolDown(): boolean {
    return this.overrunning >= OVERRUNNING_MAX;
  }

  /** Whether a delay may be claimed before it has a slot. After a failure its last may be next. */
  mayPrefetch({ failed, stalled }: { failed: boolean; stalled: boolean }): boolean {
    return this.#mayPrefetch && !failed && !stalled;
  }

  /** Whether a delay may share its call. Those that may not are not paced either. */
  mayShare({ failed, stalled }: { failed: boolean; stalled: boolean }): boolean {
    return (this.handler.batch ?? 1) > 1 && !failed && !stalled;
  }

  /**
   * How many more one claim may prefetch: as many as begin within 20 ms. None while more than half
   * of them wait: claims are expensive.
   *
   * Without it, handlers of a millisecond would wait for claims most of the time: one claim that is
   * answered in 5 ms, for ten slots, makes 2,000 delays a second.
   */
  roomToPrefetch(claimBatch: number): number {
    if (!this.#mayPrefetch || this.meanMs >= BEGINS_WITHIN_MS) return 0;
    const fit = Math.floor((this.handler.concurrency * BEGINS_WITHIN_MS) / this.meanMs);
    const most = Math.min(claimBatch, fit);
    return this.prefetched * 2 > most ? 0 : most - this.prefetched;
  }

  /** A claim asks for one more than there are slots. */
  ask(): void {
    this.prefetched += 1;
    this.asked += 1;
  }

  /** Its claim was answered. */
  answered(): void {
    this.asked -= 1;
    if (CHECKED) invariant(this.asked >= 0, 'a claim is answered once', this.name, this.asked);
  }

  /** A prefetched call has a slot now, or will not get one. */
  leave(): void {
    this.prefetched -= 1;
    if (CHECKED) invariant(this.prefetched >= 0, 'prefetched calls', this.name, this.prefetched);
  }

  /** @param atOnce handlers that return no promise run one at a time, whatever their concurrency */
  took(tookMs: number, atOnce: boolean): void {
    const ms = atOnce ? tookMs * this.handler.concurrency : tookMs;
    if (this.meanMs === Infinity) this.meanMs = ms;
    else this.meanMs += (ms - this.meanMs) * (ms > this.meanMs ? LONGER : SHORTER);
  }

  /** Prefetched calls waited too long: none is prefetched until calls are quick again. */
  isSlow(): void {
    this.meanMs = Math.max(this.meanMs, BEGINS_WITHIN_MS);
  }

  batchBegan(nowMs: number): void {
    this.batches += 1;
    this.batchBeganAtMs = nowMs;
  }

  batchEnded(): void {
    this.batches -= 1;
    if (CHECKED) invariant(this.batches >= 0, 'running batches', this.name, this.batches);
  }

  /** Until when that group is throttled; '' is the whole name. */
  throttledUntilMs(group: string): number {
    return this.throttles.size === 0
      ? -Infinity
      : (this.throttles.get(group)?.untilMs ?? -Infinity);
  }
}

/**
 * Capacity of one wheel. A process with so many handlers in flight has run out of memory before.
 */
const IN_ALL_MAX = 2 ** 24;

/** The names that have a handler on this node, and what they share. */
export class NameStates {
  readonly #states = new Map<string, NameState>();
  /** Running transactional calls: each holds a connection of the application's pool. */
  #transactional = 0;

  constructor(
    private readonly registry: HandlerRegistry,
    private readonly transactionalMax: number,
    private readonly events: DelayEvents,
    private readonly onVacant: () => void,
  ) {}

  /** Undefined if the name has no handler here. */
  find(name: string): NameState | undefined {
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const handler = this.registry.get(name);
    if (handler === undefined) return undefined;
    const state = new NameState(handler);
    this.#states.set(name, state);
    return state;
  }

  of(name: string): NameState {
    const state = this.find(name);
    if (state === undefined) throw new Error(`no handler for ${name}`);
    return state;
  }

  all(): Iterable<NameState> {
    return this.#states.values();
  }

  /** Calls that may be in flight, of all names together. */
  get inAll(): number {
    let inAll = 0;
    for (const { concurrency } of this.registry.all()) inAll += concurrency;
    return Math.min(IN_ALL_MAX, Math.max(1, inAll));
  }

  /** Takes a slot, if one is free and its transaction, if any, finds a connection. */
  acquire(state: NameState): boolean {
    if (state.mustCoolDown || state.running >= state.handler.concurrency) return false;
    if (state.handler.transactional) {
      if (this.#transactional >= this.transactionalMax) return false;
      this.#transactional += 1;
    }
    state.running += 1;
    return true;
  }

  release(state: NameState): void {
    state.running -= 1;
    if (state.handler.transactional) this.#transactional -= 1;
    if (CHECKED) invariant(state.running >= 0, 'a slot is given back once', state.name);
    if (CHECKED) invariant(this.#transactional >= 0, 'transactional slots', this.#transactional);
  }

  /** Counts a handler that runs although its attempt is over. @returns how many of that name do */
  overrun(name: string): number {
    const state = this.of(name);
    state.overrunning += 1;
    if (state.overrunning >= OVERRUNNING_MAX && !state.isCoolDownReported) {
      state.isCoolDownReported = true;
      this.events.emit('advice', { message: coolDownOf(state) });
    }
    return state.overrunning;
  }

  overrunEnded(name: string): void {
    const state = this.of(name);
    state.overrunning -= 1;
    if (CHECKED) invariant(state.overrunning >= 0, 'overrunning handlers', name);
    if (state.overrunning <= WELL_AGAIN) state.isCoolDownReported = false;
    if (state.overrunning === OVERRUNNING_MAX - 1) this.onVacant();
  }
}

const coolDownOf = ({ name, overrunning }: NameState): string =>
  `${name} cools down on this node: ${overrunning} of its handlers overran their timeout and ` +
  'still run; it continues as they end (a handler should end when ctx.signal aborts)';

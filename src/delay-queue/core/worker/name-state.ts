import type { DelayEvents } from '../api/events.js';
import type { Handler, HandlerRegistry } from '../handlers/handler.registry.js';
import type { StatementSize } from '../store/statement-size.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import type { Deadline } from '../timer-wheel/deadlines.js';
import type { Call } from './call.js';

/** A prefetched delay begins within this time, if handlers of its name take as long as before. */
const BEGINS_WITHIN_MS = 20;

/** The same for transactional ones: they take milliseconds each, and a claim for few is expensive. */
const CONNECTED_WITHIN_MS = 25;

/** Weights of a longer and of a shorter call in the mean: better to prefetch too few. */
const LONGER = 1 / 4;
const SHORTER = 1 / 16;

const meanWith = (meanMs: number, ms: number, weight: number): number =>
  meanMs === Infinity ? ms : meanMs + (ms - meanMs) * weight;

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
  /** Of a transactional name: what it shares with the others. */
  readonly connections: HandlerConnections | undefined;
  /**
   * Not in batches or under limits. Nor if its only attempt could be lost: a process that dies
   * spends the attempts that wait in it.
   */
  readonly #mayPrefetch: boolean;

  constructor(
    readonly handler: Handler,
    connections?: HandlerConnections,
  ) {
    const { transactional, batch, limits, maxAttempts } = handler;
    this.connections = transactional ? connections : undefined;
    this.#mayPrefetch = batch === null && limits === null && maxAttempts > 1;
  }

  get name(): string {
    return this.handler.name;
  }

  /** So many handlers overrun that none may begin. */
  get mustCoolDown(): boolean {
    return this.overrunning >= OVERRUNNING_MAX;
  }

  /** Whether one more call may run, if it finds a connection. */
  get hasSlot(): boolean {
    return !this.mustCoolDown && this.running < this.handler.concurrency;
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
   * How many more one claim may prefetch: as many as begin soon. Claims are expensive: while more
   * than half of them wait, others may go with a claim, but are no reason for one.
   *
   * Without it, handlers of a millisecond would wait for claims most of the time: one claim that is
   * answered in 5 ms, for ten slots, makes 2,000 delays a second.
   */
  roomToPrefetch(claimBatch: number, isAsked: boolean): number {
    if (!this.#mayPrefetch || this.meanMs >= BEGINS_WITHIN_MS) return 0;
    const fit =
      this.connections?.fit(this) ??
      Math.floor((this.handler.concurrency * BEGINS_WITHIN_MS) / this.meanMs);
    const most = Math.min(claimBatch, fit);
    return this.prefetched * 2 > most && !isAsked ? 0 : Math.max(0, most - this.prefetched);
  }

  /** A claim asks for one more than there are slots. */
  ask(): void {
    this.prefetched += 1;
    this.asked += 1;
    this.connections?.wants(this);
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
    this.meanMs = meanWith(this.meanMs, ms, ms > this.meanMs ? LONGER : SHORTER);
    this.connections?.took(tookMs);
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
 * The connections that transactional calls hold, one each. While all are held, the names that want
 * one take turns: with the first of their prefetched calls, or with a delay that may not be
 * prefetched, for which a connection is kept until it is claimed. Otherwise names whose calls are
 * prefetched would take each connection before others are asked.
 */
export class HandlerConnections {
  /** How long calls of any name hold their connections, on average; Infinity: not known yet. */
  meanMs = Infinity;
  /** The loop is beginning calls. */
  isBeginning = false;
  #held = 0;
  /** Names that want a connection, served least recently first. */
  readonly #turns = new Set<NameState>();
  /** For each of these, a free connection is kept until delays of it could be claimed. */
  readonly #kept = new Set<NameState>();

  constructor(private readonly max: number) {}

  /** For a call of that name. */
  acquire(name: NameState): boolean {
    if (!this.#kept.delete(name) && this.#isFull) return false;
    this.#held += 1;
    return true;
  }

  release(): void {
    this.#held -= 1;
    if (CHECKED) invariant(this.#held >= 0, 'connections of handlers', this.#held);
  }

  /** A delay of that name is being prefetched, or cannot be claimed without a connection. */
  wants(name: NameState): void {
    this.#turns.add(name);
  }

  /** How many delays of that name begin within 25 ms while it takes turns with the others. */
  fit(name: NameState): number {
    const turns = this.#turns.size + (this.#turns.has(name) ? 0 : 1);
    const perMs = Math.min(
      name.handler.concurrency / name.meanMs,
      this.max / (turns * this.meanMs),
    );
    return Math.floor(CONNECTED_WITHIN_MS * perMs);
  }

  /**
   * The name whose turn it is to begin a prefetched call; undefined: no connection is free for one.
   * A name whose own calls hold it back, or whose claim is in flight, keeps its turn.
   */
  next(): NameState | undefined {
    for (const name of this.#turns) {
      if (this.#isFull) break;
      const waits = name.waiting.size > 0;
      if (!name.hasSlot || (!waits && name.asked > 0)) continue;
      this.#turns.delete(name);
      if (name.prefetched > 1) this.#turns.add(name);
      if (waits) return name;
      this.#kept.add(name);
    }
    return undefined;
  }

  /** All that is due was asked: what was kept is free. */
  keepNone(): void {
    this.#kept.clear();
  }

  get keepsAny(): boolean {
    return this.#kept.size > 0;
  }

  took(ms: number): void {
    this.meanMs = meanWith(this.meanMs, ms, SHORTER);
  }

  get #isFull(): boolean {
    return this.#held + this.#kept.size >= this.max;
  }
}

/**
 * Capacity of one wheel. A process with so many handlers in flight has run out of memory before.
 */
const IN_ALL_MAX = 2 ** 24;

/** The names that have a handler on this node, and what they share. */
export class NameStates {
  readonly #states = new Map<string, NameState>();
  /** Of all transactional names together. */
  readonly connections: HandlerConnections;

  constructor(
    private readonly registry: HandlerRegistry,
    transactionalMax: number,
    private readonly events: DelayEvents,
    private readonly onVacant: () => void,
  ) {
    this.connections = new HandlerConnections(transactionalMax);
  }

  /** Undefined if the name has no handler here. */
  find(name: string): NameState | undefined {
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const handler = this.registry.get(name);
    if (handler === undefined) return undefined;
    const state = new NameState(handler, this.connections);
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
    if (!state.hasSlot || state.connections?.acquire(state) === false) return false;
    state.running += 1;
    return true;
  }

  release(state: NameState): void {
    state.running -= 1;
    state.connections?.release();
    if (CHECKED) invariant(state.running >= 0, 'a slot is given back once', state.name);
  }

  /** Counts a handler that runs although its attempt is over. @returns how many of that name do */
  overrun(name: string): number {
    const state = this.of(name);
    state.overrunning += 1;
    if (state.overrunning >= OVERRUNNING_MAX && !state.isCoolDownReported) {
      state.isCoolDownReported = true;
      this.events.emit('advice', { message: coolDownAdvice(state) });
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

const coolDownAdvice = ({ name, overrunning }: NameState): string =>
  `${name} cools down on this node: ${overrunning} of its handlers overran their timeout and ` +
  'still run; it continues as they end (a handler should end when ctx.signal aborts)';

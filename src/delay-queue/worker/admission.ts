import { DelayConfigError } from '../api/errors.js';
import type { DelayEvents } from '../api/events.js';
import type {
  Handler,
  HandlerLimits,
  HandlerRegistry,
  Limit,
} from '../handlers/handler.registry.js';
import { groupText } from '../store/rows/delay-rows.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { type Growth, pauseMs } from '../tasks/recurring-task.js';
import type { Admit, Entry } from './fair-queue.js';
import type { TimerQueue } from './timer-queue.js';
import type { ClaimSizes, CallSlots, Throttles } from './limits.js';

/** What is claimed ahead of its place begins within so long, as far as handlers of that name took so far. */
const BEGINS_WITHIN_MS = 20;

/** A longer call moves the mean by its part at once, a shorter one by a small part: better too few than too many. */
const LONGER = 1 / 4;
const SHORTER = 1 / 16;

interface Pace {
  /** How long a call of that name takes; Infinity: not known yet. */
  meanMs: number;
  /** Calls that are claimed, or being claimed, and have no place. */
  ahead: number;
  /** Of these, those whose claim is on its way. */
  asked: number;
}

/**
 * How many delays of a name may be claimed before there is a place for them. Handlers of a millisecond would else wait for
 * claims most of the time: one that is answered in five milliseconds, for ten places, makes two thousand a second.
 *
 * A handler that takes as long as that never has a call waiting, nor has one in a batch, in a transaction, or with
 * limits on all nodes together.
 */
export class Prefetch {
  readonly #paces = new Map<string, Pace>();

  /** @param claimBatch of one name, at most */
  constructor(
    private readonly registry: HandlerRegistry,
    private readonly claimBatch: number,
  ) {}

  /** An entry whose attempt may be its last is not risked: a process that dies spends the attempts that wait in it. */
  mayWait({ name, failed, stalled }: Entry): boolean {
    const handler = this.registry.get(name);
    return !failed && !stalled && handler !== undefined && isSimple(handler);
  }

  /**
   * How many more one claim may ask for. None while more than half of those that may wait do: claims are dear.
   */
  roomFor(name: string): number {
    const { meanMs, ahead } = this.#paceOf(name);
    if (meanMs >= BEGINS_WITHIN_MS) return 0;
    const fit = Math.floor((this.#concurrencyOf(name) * BEGINS_WITHIN_MS) / meanMs);
    const most = Math.min(this.claimBatch, fit);
    return ahead * 2 > most ? 0 : most - ahead;
  }

  /**
   * Whether a place that is free belongs to those whose claim is on its way: of two claims the second may be answered
   * first, and handlers that run one at a time do so in the order in which they are due.
   */
  isTurnOfOthers(name: string): boolean {
    return this.#paceOf(name).asked > 0 && this.#concurrencyOf(name) === 1;
  }

  /** Whether calls of that name wait, of which one runs at a time: a place that is free is for the first of them. */
  isTurnOfWaiting(name: string): boolean {
    const { ahead, asked } = this.#paceOf(name);
    return ahead > asked && this.#concurrencyOf(name) === 1;
  }

  /** One is to be claimed without a place. */
  ask(name: string): void {
    const pace = this.#paceOf(name);
    pace.ahead += 1;
    pace.asked += 1;
  }

  /** Its claim was answered. */
  answered(name: string): void {
    const pace = this.#paceOf(name);
    pace.asked -= 1;
    if (CHECKED) invariant(pace.asked >= 0, 'a claim is answered once', name, pace.asked);
  }

  /** It has a place now, or will not get one. */
  remove(name: string): void {
    const pace = this.#paceOf(name);
    pace.ahead -= 1;
    if (CHECKED) invariant(pace.ahead >= 0, 'prefetched calls', name, pace.ahead);
  }

  /**
   * A call of that name took so long.
   * @param atOnce of handlers that return no promise one runs at a time, however many places they have
   */
  took(name: string, tookMs: number, atOnce: boolean): void {
    const pace = this.#paceOf(name);
    const ms = atOnce ? tookMs * this.#concurrencyOf(name) : tookMs;
    if (pace.meanMs === Infinity) pace.meanMs = ms;
    else pace.meanMs += (ms - pace.meanMs) * (ms > pace.meanMs ? LONGER : SHORTER);
  }

  /** Calls of that name have kept others waiting for too long: none waits until they are quick again. */
  isSlow(name: string): void {
    const pace = this.#paceOf(name);
    pace.meanMs = Math.max(pace.meanMs, BEGINS_WITHIN_MS);
  }

  #concurrencyOf(name: string): number {
    return this.registry.get(name)?.concurrency ?? 1;
  }

  #paceOf(name: string): Pace {
    let pace = this.#paces.get(name);
    if (pace === undefined)
      this.#paces.set(name, (pace = { meanMs: Infinity, ahead: 0, asked: 0 }));
    return pace;
  }
}

const isSimple = ({ transactional, batch, limits, maxAttempts }: Handler): boolean =>
  !transactional && batch === null && limits === null && maxAttempts > 1;

/** The first is between a name's first call and its second, unless that one is full before. */
const PAUSE: Growth = { firstMs: 5, factor: 2, lastMs: 1_000, jitter: 0 };

interface Running {
  calls: number;
  lastBeganAtMs: number;
}

const NONE: Running = { calls: 0, lastBeganAtMs: -Infinity };

/**
 * When a further call of a batch handler is worth its place. The first one never waits. While others
 * run, one begins as soon as its batch is full, or when a pause has passed since the last one began:
 * 5 ms with one running, doubled with each further one, a second at most.
 *
 * Without a pause each millisecond of a burst would begin a call for the few delays that it brings,
 * until all places are taken. No single pause fits: one that spares the places of a handler that takes
 * seconds is an age to one that takes milliseconds. Doubled, it is about as long as the first of the
 * calls that run has taken already, so none waits out of proportion, and ten places of a slow
 * handler last for 2.5 s at least.
 */
export class BatchPace {
  readonly #running = new Map<string, Running>();

  constructor(private readonly registry: HandlerRegistry) {}

  /** Delays of one call of that name, at most. */
  batchOf(name: string): number {
    return this.registry.get(name)?.batch ?? 1;
  }

  /** Whether an entry may have others beside it. Those that may not are not paced, nor counted. */
  shares({ name, failed, stalled }: Entry): boolean {
    return this.batchOf(name) > 1 && !failed && !stalled;
  }

  /** How long a call of that name that is not full has to wait; 0: it may begin. */
  pauseLeftMs(name: string, nowMs: number): number {
    const { calls, lastBeganAtMs } = this.#running.get(name) ?? NONE;
    if (calls === 0) return 0;
    return Math.max(0, lastBeganAtMs + pauseMs(PAUSE, calls) - nowMs);
  }

  /** A call has taken its place; `first` is its first entry. */
  began(first: Entry, nowMs: number): void {
    if (!this.shares(first)) return;
    const { calls } = this.#running.get(first.name) ?? NONE;
    this.#running.set(first.name, { calls: calls + 1, lastBeganAtMs: nowMs });
  }

  /** The call has given its place back. */
  ended(first: Entry): void {
    const running = this.#running.get(first.name);
    if (running === undefined || !this.shares(first)) return;
    running.calls -= 1;
    if (CHECKED) invariant(running.calls >= 0, 'batches that run', first.name, running.calls);
  }
}

interface Parts {
  limits: CallSlots;
  throttles: Throttles;
  pace: BatchPace;
  ahead: Prefetch;
  sizes: ClaimSizes;
  /** What is due, the one that asks to be admitted included. */
  queue: { waiting(name: string): number; hasStalled(name: string): boolean };
}

/** Why an entry is not admitted; undefined: no limit is against it. */
type Held = Exclude<ReturnType<Admit>, 'yes'> | undefined;

const mostOf = ({ concurrency, burst }: Limit): number =>
  Math.min(concurrency || Infinity, burst || Infinity);

/** How many a claim asks for of each name and group that has limits. */
class Asked {
  readonly #counts = new Map<string, number>();

  of(name: string, group: string | null = null): number {
    return this.#counts.get(groupText(name, group)) ?? 0;
  }

  add({ name, group }: Entry): void {
    this.#counts.set(groupText(name, null), this.of(name) + 1);
    if (group !== null) this.#counts.set(groupText(name, group), this.of(name, group) + 1);
  }
}

/** Entries of one call. */
interface Asking {
  entries: [Entry, ...Entry[]];
  /** Else it is claimed ahead of one. */
  hasSlot: boolean;
}

/** Puts together what one claim asks for: which entries travel in which call, one place per call. */
export class NextClaim {
  readonly calls: Asking[] = [];
  /** How many more of a name may be claimed ahead of their places. */
  readonly #room = new Map<string, number>();
  /** How long the first of those has to wait that were refused for their pace; Infinity: none was. */
  pauseLeftMs = Infinity;
  /** Of which kind of names the first one was. */
  #isLimited: boolean | undefined;
  readonly #asked = new Asked();
  /** Entries that it has taken in, and how many it may, as far as these say. */
  #taken = 0;
  #most = Infinity;
  /** It asks for this name alone. */
  #apart: string | undefined;
  /** Calls of batch handlers that have room, by name. */
  readonly #open = new Map<string, Entry[]>();

  /** @param nowMs `performance.now()` */
  constructor(
    private readonly parts: Parts,
    private readonly nowMs: number,
  ) {}

  /** Takes an entry in, if its name has a batch with room, or a place that it is worth. */
  admit(entry: Entry): ReturnType<Admit> {
    const rules = this.parts.limits.acrossNodes(entry.name);
    // Names with limits are claimed by a statement of their own: a claim is of these, or of the others.
    if (this.#isLimited !== undefined && this.#isLimited !== (rules !== null)) return 'no';
    if (!this.#fits(entry)) return 'no';
    const held = rules === null ? undefined : this.#throttledBy(entry, rules);
    if (held !== undefined) return held;
    if (!this.#hasSlot(entry)) return 'no';
    this.#isLimited = rules !== null;
    this.#take(entry);
    if (rules !== null) this.#asked.add(entry);
    return 'yes';
  }

  /** Whether one claim may ask for it and for what it asks for already. */
  #fits(entry: Entry): boolean {
    const { sizes } = this.parts;
    const isApart = sizes.isApart(entry);
    if (this.#taken === 0) return !isApart || sizes.mayClaimApart;
    if (this.#apart === undefined ? isApart : this.#apart !== entry.name) return false;
    return this.#taken < Math.min(this.#most, sizes.mostWith(entry));
  }

  #take(entry: Entry): void {
    const { sizes } = this.parts;
    if (this.#taken === 0 && sizes.isApart(entry)) this.#apart = entry.name;
    this.#taken += 1;
    this.#most = Math.min(this.#most, sizes.mostWith(entry));
  }

  /** No more are asked for than can be had. */
  #throttledBy({ name, group }: Entry, { all, perGroup }: HandlerLimits): Held {
    const held = this.parts.throttles.throttledBy(name, group);
    if (held !== undefined) return held === 'name' ? 'no' : 'its group waits';
    if (this.#asked.of(name) >= mostOf(all)) return 'no';
    const isFull = group !== null && this.#asked.of(name, group) >= mostOf(perGroup);
    return isFull ? 'not its group' : undefined;
  }

  #hasSlot(entry: Entry): boolean {
    const { limits, pace, ahead } = this.parts;
    const shares = pace.shares(entry);
    const open = shares ? this.#open.get(entry.name) : undefined;
    if (open !== undefined) {
      open.push(entry);
      if (open.length === pace.batchOf(entry.name)) this.#open.delete(entry.name);
      return true;
    }
    if (shares && !this.#isWorthACall(entry.name)) return false;
    if (!this.#room.has(entry.name) && ahead.isTurnOfOthers(entry.name)) return false;
    const isTurnOfWaiting = ahead.isTurnOfWaiting(entry.name) && ahead.mayWait(entry);
    const hasSlot = !isTurnOfWaiting && limits.acquire(entry.name);
    if (!hasSlot && !this.#mayWait(entry)) return false;
    const entries: Asking['entries'] = [entry];
    this.calls.push({ entries, hasSlot });
    pace.began(entry, this.nowMs);
    if (shares) this.#open.set(entry.name, entries);
    return true;
  }

  #mayWait(entry: Entry): boolean {
    const { ahead, queue } = this.parts;
    // Who waits would have the places for which stalled ones take turns.
    if (!ahead.mayWait(entry) || queue.hasStalled(entry.name)) return false;
    const room = this.#room.get(entry.name) ?? ahead.roomFor(entry.name);
    this.#room.set(entry.name, room - 1);
    if (room <= 0) return false;
    ahead.ask(entry.name);
    return true;
  }

  #isWorthACall(name: string): boolean {
    const { pace, queue } = this.parts;
    const leftMs = pace.pauseLeftMs(name, this.nowMs);
    if (leftMs === 0 || queue.waiting(name) >= pace.batchOf(name)) return true;
    this.pauseLeftMs = Math.min(this.pauseLeftMs, leftMs);
    return false;
  }
}

/** What is due and has a place to run, or will have one soon: the entries of one call. */
export class AdmittedCall {
  #beganAtMs = Number.NaN;
  #isAnswered: boolean;

  constructor(
    readonly entries: readonly [Entry, ...Entry[]],
    private readonly reservations: Admission,
    private hasSlot: boolean,
  ) {
    this.#isAnswered = hasSlot;
  }

  /**
   * The call begins, if there is a place for it.
   * @param isFirst none of its name waits longer: else it has only the place that it came with
   */
  takeSlot(isFirst = true): boolean {
    this.#answered();
    this.hasSlot ||= isFirst && this.reservations.takeSlot(this.entries[0]);
    if (this.hasSlot) this.#beganAtMs = performance.now();
    return this.hasSlot;
  }

  /** Once, when the call is over or does not come. */
  release(atOnce = false): void {
    this.#answered();
    const [first] = this.entries;
    const tookMs = performance.now() - this.#beganAtMs;
    if (this.hasSlot) this.reservations.release(first, tookMs, atOnce);
    else this.reservations.leave(first);
  }

  #answered(): void {
    if (!this.#isAnswered) this.reservations.prefetch.answered(this.entries[0].name);
    this.#isAnswered = true;
  }
}

/** What one claim asks for. */
interface Admitted {
  calls: readonly AdmittedCall[];
  /** How long the first of those has to wait that were refused for their pace; Infinity: none was. */
  pauseLeftMs: number;
}

/** What becomes of slots. */
interface SlotPort {
  /** A call of that name has given its slot back. */
  freed(name: string): void;
  /** A call has left that had no slot: others of its name may be claimed. */
  vacant(): void;
}

/**
 * Reserves places for what is due: what is claimed has a place, or will have one within a moment. Stalled delays run one at
 * a time.
 */
export class Admission {
  readonly prefetch: Prefetch;
  readonly #pace: BatchPace;
  #stalledRuns = false;

  constructor(
    private readonly limits: CallSlots,
    registry: HandlerRegistry,
    { claimBatch }: { claimBatch: number },
    private readonly throttles: Throttles,
    private readonly sizes: ClaimSizes,
    private readonly queue: Pick<TimerQueue, 'take' | 'waiting' | 'hasStalled'>,
    private readonly to: SlotPort,
  ) {
    this.#pace = new BatchPace(registry);
    this.prefetch = new Prefetch(registry, claimBatch);
  }

  /** @param nowMs `performance.now()` */
  admit(nowMs: number): Admitted {
    const { limits, throttles, prefetch: ahead, sizes, queue } = this;
    const claim = new NextClaim(
      { limits, pace: this.#pace, throttles, ahead, sizes, queue },
      nowMs,
    );
    const taken = queue.take((entry) => claim.admit(entry), !this.#stalledRuns);
    if (taken === 'stalled') this.#stalledRuns = true;
    const calls = claim.calls.map(
      ({ entries, hasSlot }) => new AdmittedCall(entries, this, hasSlot),
    );
    return { calls, pauseLeftMs: claim.pauseLeftMs };
  }

  /** For a call that was claimed without one. @param first entry of the call */
  takeSlot({ name }: Entry): boolean {
    const hasSlot = this.limits.acquire(name);
    if (hasSlot) this.prefetch.remove(name);
    return hasSlot;
  }

  /** @param tookMs how long the call had its place; NaN: it never began */
  release(first: Entry, tookMs: number, atOnce: boolean): void {
    if (first.stalled) this.#stalledRuns = false;
    this.#pace.ended(first);
    this.limits.release(first.name);
    if (tookMs >= 0) this.prefetch.took(first.name, tookMs, atOnce);
    this.to.freed(first.name);
  }

  /** Of a call that had no place, and will not get one. */
  leave({ name }: Entry): void {
    this.prefetch.remove(name);
    this.to.vacant();
  }
}

/**
 * How many connections of the application's pool its transactional handlers may hold together, one each. A fifth
 * of the pool, one at least, stays with the application: a handler that wants a second one must be able to get it. One
 * more is for `@OnDeadDelay`, if there is any.
 *
 * @param poolMax connections of the pool
 * @param concurrency of a handler that says nothing of it
 * @throws DelayConfigError when the pool is too small for its handlers
 */
export function handlersShareOf(
  poolMax: number,
  registry: HandlerRegistry,
  concurrency: number,
  events: DelayEvents,
): number {
  const handlers = registry.all().filter((handler) => handler.transactional);
  const onDeadMax = registry.all().some(({ onDead }) => onDead !== undefined) ? 1 : 0;
  const needed = onDeadMax + (handlers.length > 0 ? 1 : 0);
  if (needed > 0 && poolMax < needed + 1) {
    throw new DelayConfigError(
      `transactional handlers${onDeadMax > 0 ? ' and @OnDeadDelay' : ''} need a pool of at least ` +
        `${needed + 1} connections (extra.max), not ${poolMax}`,
    );
  }
  const max = poolMax - Math.max(1, Math.ceil(poolMax / 5)) - onDeadMax;
  for (const handler of handlers) {
    if (handler.concurrency > max && handler.concurrency !== concurrency) {
      events.emit('advice', {
        message:
          `${handler.location}: concurrency ${handler.concurrency} cannot be reached; the pool of ` +
          `${poolMax} leaves ${max} connections to transactional handlers (raise extra.max)`,
      });
    }
  }
  return max;
}

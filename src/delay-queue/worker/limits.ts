import type { DelayEvents } from '../api/events.js';
import type { HandlerLimits, HandlerRegistry } from '../handlers/handler.registry.js';
import type { LimitLeft } from '../store/limit.store.js';
import { groupNumber } from '../store/rows/attempt-rows.js';
import { groupText } from '../store/rows/delay-rows.js';
import { StatementSize } from '../store/statement-size.js';
import { CHECKED, invariant } from '../tasks/invariant.js';
import { type Deadline, Deadlines, type WheelService } from '../timer-wheel/wheel.service.js';
import type { Entry } from './fair-queue.js';

/**
 * A claim checks again for a slot after this long: its holder may have died, or the hint got lost.
 */
const LOOK_AGAIN_MS = 2_000;

/**
 * Beyond this many, the oldest limit is forgotten: the next claim that meets it learns of it again.
 */
const THROTTLES_MAX = 200_000;

interface Throttle {
  name: string;
  /** '' is the whole name. */
  group: string;
  untilMs: number;
  /** Ends when a running attempt does, not only by time. */
  isFull: boolean;
}

type KnownThrottle = Throttle & { end?: Deadline | undefined; numbered?: string };

/** Which limit throttles an entry: that of its name, or only that of its group. */
type ThrottledBy = 'name' | 'group' | undefined;

/** What throttles report. */
export interface ThrottlePort {
  /** That limit throttles nothing any more; group '' is the whole name. */
  throttleEnded(of: { name: string; group: string }): void;
  /** There may be capacity. */
  vacant(): void;
}

/**
 * Limits that had no slot left at the last claim. Throttled entries stay in the ready queue until a
 * slot may be free. No delay costs an iteration over the limits: there may be one for each of many
 * thousand tenants.
 */
export class Throttles {
  #isAsking = false;
  /** Oldest first. */
  readonly #throttles = new Map<string, KnownThrottle>();
  readonly #ends: Deadlines;
  /**
   * Limits of which an attempt ended while a claim was on its way, which may not have seen that.
   */
  readonly #freed = new Set<string>();
  /** Throttled groups by name and number of the group: hints of other nodes carry no group text. */
  readonly #numbered = new Map<string, Set<string>>();

  constructor(
    wheel: WheelService,
    private readonly to: ThrottlePort,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#ends = new Deadlines(wheel, THROTTLES_MAX + 1);
  }

  close(): void {
    this.#ends.close();
  }

  /** A claim that reports limits is on its way; a second one would take a group out of order. */
  ask(): void {
    this.#isAsking = true;
    this.#freed.clear();
  }

  answered(): void {
    this.#isAsking = false;
  }

  /** Takes over what a claim reported of the limits that it met. */
  learn(left: readonly LimitLeft[]): void {
    const nowMs = this.nowMs();
    for (const { name, group, places, waitMs } of left) {
      const key = groupText(name, group);
      if (places > 0) this.#end(key);
      else if (waitMs > 0) this.#begin({ name, group, untilMs: nowMs + waitMs, isFull: false });
      else if (!this.#freed.has(key) && !this.#freed.has(numbered(name, group))) {
        this.#begin({ name, group, untilMs: nowMs + LOOK_AGAIN_MS, isFull: true });
      }
    }
  }

  /** Forgets all of it: the database's clock has jumped. */
  clear(): void {
    for (const key of this.#throttles.keys()) this.#end(key);
    this.to.vacant();
  }

  /** An attempt of that name and group has ended, here or elsewhere. */
  freed(name: string, group: string | null): void {
    this.#free(groupText(name, ''));
    if (group !== null) this.#free(groupText(name, group));
    this.to.vacant();
  }

  /** The same for an attempt on another node, of whose group only the number is known. */
  freedElsewhere(name: string, number: number | null): void {
    this.#free(groupText(name, ''));
    if (number !== null) {
      const key = numberText(name, number);
      this.#seeFreed(key);
      for (const its of this.#numbered.get(key) ?? []) this.#free(its);
    }
    this.to.vacant();
  }

  throttledBy(name: string, group: string | null): ThrottledBy {
    if (this.#isAsking) return 'name';
    if (this.#throttles.size === 0) return undefined;
    const nowMs = this.nowMs();
    if (this.#isBlocked(groupText(name, ''), nowMs)) return 'name';
    return group !== null && this.#isBlocked(groupText(name, group), nowMs) ? 'group' : undefined;
  }

  /**
   * Milliseconds until the first limit may end; Infinity: none. Iterates over all: for `manual`.
   */
  leftMs(): number {
    let firstMs = Infinity;
    for (const { untilMs } of this.#throttles.values()) firstMs = Math.min(firstMs, untilMs);
    return Math.max(0, firstMs - this.nowMs());
  }

  #begin(block: KnownThrottle): void {
    const key = groupText(block.name, block.group);
    this.#throttles.get(key)?.end?.off();
    // Inserted anew, as the youngest.
    this.#forget(key);
    this.#throttles.set(key, block);
    this.#number(key, block);
    block.end = this.#ends.set(performance.now() + block.untilMs - this.nowMs(), () => {
      this.#end(key);
      this.to.vacant();
    });
    if (this.#throttles.size <= THROTTLES_MAX) return;
    const [oldest] = this.#throttles.keys();
    if (oldest !== undefined) this.#end(oldest);
  }

  #end(key: string): void {
    const block = this.#throttles.get(key);
    if (block === undefined) return;
    this.#forget(key);
    block.end?.off();
    this.to.throttleEnded(block);
  }

  /** Bounded: any login can send hints of any number of groups. */
  #seeFreed(key: string): void {
    if (this.#isAsking && this.#freed.size < THROTTLES_MAX) this.#freed.add(key);
  }

  #number(key: string, block: KnownThrottle): void {
    if (block.group === '') return;
    const number = numbered(block.name, block.group);
    block.numbered = number;
    const keys = this.#numbered.get(number);
    if (keys === undefined) this.#numbered.set(number, new Set([key]));
    else keys.add(key);
  }

  #forget(key: string): void {
    const number = this.#throttles.get(key)?.numbered;
    this.#throttles.delete(key);
    if (number === undefined) return;
    const keys = this.#numbered.get(number);
    if (keys?.delete(key) === true && keys.size === 0) this.#numbered.delete(number);
  }

  #free(key: string): void {
    this.#seeFreed(key);
    if (this.#throttles.get(key)?.isFull === true) this.#end(key);
  }

  #isBlocked(key: string, nowMs: number): boolean {
    return (this.#throttles.get(key)?.untilMs ?? -Infinity) > nowMs;
  }
}

/** No name begins with `#`, so this differs from every {@link groupText}. */
const numberText = (name: string, number: number): string => `#${number} ${name}`;

const numbered = (name: string, group: string): string => numberText(name, groupNumber(group));

/** Overrunning handlers of one name (past their timeout and still running) until it cools down. */
const OVERRUNNING_MAX = 1_000;

/** Few enough to report the next cool-down: a name may cool down with every timeout. */
const WELL_AGAIN = OVERRUNNING_MAX / 2;

/**
 * Capacity of one wheel. A process with so many handlers in flight has run out of memory before.
 */
const IN_ALL_MAX = 2 ** 24;

/**
 * How many calls may run: a number per name, and one for all transactional handlers together,
 * because each of these holds a connection of the application's pool.
 */
export class CallSlots {
  readonly #taken = new Map<string, number>();
  readonly #overrunning = new Map<string, number>();
  readonly #resting = new Set<string>();
  #transactional = 0;

  constructor(
    private readonly registry: HandlerRegistry,
    private readonly transactionalMax: number,
    private readonly events: DelayEvents,
    private readonly onVacant: () => void,
  ) {}

  /** Calls that may be in flight, of all names together. */
  get inAll(): number {
    let inAll = 0;
    for (const { concurrency } of this.registry.all()) inAll += concurrency;
    return Math.min(IN_ALL_MAX, Math.max(1, inAll));
  }

  acrossNodes(name: string): HandlerLimits | null {
    return this.registry.get(name)?.limits ?? null;
  }

  /** Takes a slot for a call of that name, if one is free. */
  acquire(name: string): boolean {
    const handler = this.registry.get(name);
    if (handler === undefined || this.overrunning(name) >= OVERRUNNING_MAX) return false;
    const taken = this.#taken.get(name) ?? 0;
    if (taken >= handler.concurrency) return false;
    if (handler.transactional) {
      if (this.#transactional >= this.transactionalMax) return false;
      this.#transactional += 1;
    }
    this.#taken.set(name, taken + 1);
    return true;
  }

  release(name: string): void {
    const taken = (this.#taken.get(name) ?? 0) - 1;
    this.#taken.set(name, taken);
    if (this.registry.get(name)?.transactional) this.#transactional -= 1;
    if (CHECKED) invariant(taken >= 0, 'a slot is given back once', name, taken);
    if (CHECKED) invariant(this.#transactional >= 0, 'transactional slots', this.#transactional);
  }

  /** Counts a handler that runs although its attempt is over. @returns how many of that name do */
  overrun(name: string): number {
    const count = this.overrunning(name) + 1;
    this.#overrunning.set(name, count);
    if (count >= OVERRUNNING_MAX && !this.#resting.has(name)) {
      this.#resting.add(name);
      this.events.emit('advice', { message: restOf(name, count) });
    }
    return count;
  }

  overrunEnded(name: string): void {
    const count = this.overrunning(name) - 1;
    this.#overrunning.set(name, count);
    if (CHECKED) invariant(count >= 0, 'overrunning handlers', name, count);
    if (count <= WELL_AGAIN) this.#resting.delete(name);
    if (count === OVERRUNNING_MAX - 1) this.onVacant();
  }

  overrunning(name: string): number {
    return this.#overrunning.get(name) ?? 0;
  }
}

const restOf = (name: string, overrunning: number): string =>
  `${name} cools down on this node: ${overrunning} of its handlers overran their timeout and still run; ` +
  'it continues as they end (a handler should end when ctx.signal aborts)';

/** A claim that takes more than this share of a lease is too large: its delays run in the rest. */
const LEASE_SHARE = 1 / 6;

/** A claim that takes longer is slow, however long the leases are. */
const SLOW_MS_MAX = 5_000;

/**
 * How many delays of a name one claim asks for. A name whose claims failed or were slow is claimed
 * apart and in smaller numbers, so that its large payloads or slow triggers shrink no other name's
 * claims. One such claim is on its way at a time; the other slot is for healthy names.
 *
 * A claim that failed is halved until one delay stands alone, so that its healthy part runs.
 */
export class ClaimSizes {
  readonly #names = new Map<string, StatementSize>();
  #isApartOnItsWay = false;

  /** @param max largest claim */
  constructor(
    private readonly max: number,
    private readonly leaseMsOf: (name: string) => number,
  ) {}

  /** Whether that entry is claimed only with others of its name. */
  isApart({ name, claimedWithin }: Entry): boolean {
    return claimedWithin !== undefined || this.#names.has(name);
  }

  /** Whether a claim of a single name may begin now. */
  get mayClaimApart(): boolean {
    return !this.#isApartOnItsWay;
  }

  mostWith({ name, claimedWithin = Infinity }: Entry): number {
    return Math.min(this.#names.get(name)?.now ?? this.max, claimedWithin);
  }

  /** A claim of these is about to be sent. @returns a function to call when it has ended */
  begin(entries: readonly Entry[]): () => void {
    const [first] = entries;
    if (first === undefined || !this.isApart(first)) return () => {};
    this.#isApartOnItsWay = true;
    return () => {
      this.#isApartOnItsWay = false;
    };
  }

  worked(entries: readonly Entry[], tookMs: number): void {
    const names = namesOf(entries);
    const slowMs = Math.min(...[...names].map((name) => this.#slowMs(name)));
    if (tookMs > slowMs) return this.failed(entries);
    for (const entry of entries) entry.claimedWithin = undefined;
    const [name, ...others] = names;
    const known = name !== undefined && others.length === 0 && this.#names.get(name);
    if (!known) return;
    known.worked(entries.length, tookMs);
    if (known.isWhole) this.#names.delete(name);
  }

  /** The claim was too large, or one of its delays was refused. */
  failed(entries: readonly Entry[]): void {
    const half = Math.max(1, Math.floor(entries.length / 2));
    for (const entry of entries) entry.claimedWithin = half;
    const names = namesOf(entries);
    for (const name of names) {
      const size = this.#watched(name);
      if (names.size === 1) size.failed(entries.length);
    }
  }

  #watched(name: string): StatementSize {
    let size = this.#names.get(name);
    if (size === undefined) {
      size = new StatementSize(this.max, this.#slowMs(name));
      this.#names.set(name, size);
    }
    return size;
  }

  #slowMs(name: string): number {
    return Math.min(SLOW_MS_MAX, this.leaseMsOf(name) * LEASE_SHARE);
  }
}

const namesOf = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(entries.map(({ name }) => name));

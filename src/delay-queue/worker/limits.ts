import type { DelayEvents } from '../api/events.js';
import type { HandlerLimits, HandlerRegistry } from '../handlers/handler.registry.js';
import type { LimitLeft } from '../store/limit.store.js';
import { groupNumber } from '../store/rows/attempt-rows.js';
import { groupText } from '../store/rows/delay-rows.js';
import { StatementSize } from '../store/statement-size.js';
import { type Deadline, Deadlines, type WheelService } from '../timer-wheel/wheel.service.js';
import type { Entry } from './entry.js';

/**
 * When nothing was heard for so long, a claim looks whether there is a place again: its holder died, or the hint
 * was lost.
 */
const LOOK_AGAIN_MS = 2_000;

/** Of more limits it forgets the oldest: who waits for one of these asks once more, and is told again. */
const BLOCKS_MAX = 200_000;

interface Block {
  name: string;
  /** '' is the whole name. */
  group: string;
  untilMs: number;
  /** It ends when a running one does, not by its time alone. */
  isFull: boolean;
}

type KnownBlock = Block & { end?: Deadline | undefined; numbered?: string };

/** Whether a limit holds an entry back: that of its name, or that of its group alone. */
type HeldBy = 'name' | 'group' | undefined;

/** What throttles report. */
export interface ThrottlePort {
  /** That limit throttles nothing any more; group '' is the whole name. */
  throttleEnded(of: { name: string; group: string }): void;
  /** There may be capacity. */
  vacant(): void;
}

/**
 * Limits that had no place left at the last claim. What they hold back stays in the ready queue, and is not asked for
 * again until a place may be free. Nothing here looks at each of them: there may be one for each of many thousand tenants.
 */
export class Throttles {
  #isAsking = false;
  /** The oldest first. */
  readonly #blocks = new Map<string, KnownBlock>();
  readonly #ends: Deadlines;
  /** Limits of which an attempt was over while a claim was on its way, which may not have seen that. */
  readonly #freed = new Set<string>();
  /** The blocks of groups, by name and number of the group: other nodes tell of no group by its text. */
  readonly #numbered = new Map<string, Set<string>>();

  /** @param nowMs milliseconds of a clock by which rates are filled */
  constructor(
    wheel: WheelService,
    private readonly to: ThrottlePort,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#ends = new Deadlines(wheel, BLOCKS_MAX + 1);
  }

  close(): void {
    this.#ends.close();
  }

  /** A claim is on its way that will tell: two at once would take what is due of a group out of its order. */
  ask(): void {
    this.#isAsking = true;
    this.#freed.clear();
  }

  /** Its answer is there, or does not come. */
  answered(): void {
    this.#isAsking = false;
  }

  /** What a claim has said of the limits that it met. */
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

  /** Forgets what was learnt: the database's clock has jumped. */
  clear(): void {
    for (const key of this.#blocks.keys()) this.#end(key);
    this.to.vacant();
  }

  /** An attempt of that name and group is over, here or elsewhere. */
  freed(name: string, group: string | null): void {
    this.#free(groupText(name, ''));
    if (group !== null) this.#free(groupText(name, group));
    this.to.vacant();
  }

  /** The same of an attempt elsewhere, of whose group only the number is known. */
  freedElsewhere(name: string, number: number | null): void {
    this.#free(groupText(name, ''));
    if (number !== null) {
      const key = numberText(name, number);
      this.#seeFreed(key);
      for (const its of this.#numbered.get(key) ?? []) this.#free(its);
    }
    this.to.vacant();
  }

  heldBy(name: string, group: string | null): HeldBy {
    if (this.#isAsking) return 'name';
    if (this.#blocks.size === 0) return undefined;
    const nowMs = this.nowMs();
    if (this.#isBlocked(groupText(name, ''), nowMs)) return 'name';
    return group !== null && this.#isBlocked(groupText(name, group), nowMs) ? 'group' : undefined;
  }

  /**
   * In how many milliseconds the first of them may be over; Infinity: there is none. It looks at each: for a node that
   * runs nothing by itself.
   */
  leftMs(): number {
    let firstMs = Infinity;
    for (const { untilMs } of this.#blocks.values()) firstMs = Math.min(firstMs, untilMs);
    return Math.max(0, firstMs - this.nowMs());
  }

  #begin(block: KnownBlock): void {
    const key = groupText(block.name, block.group);
    this.#blocks.get(key)?.end?.off();
    // Anew, so that it is the youngest.
    this.#forget(key);
    this.#blocks.set(key, block);
    this.#number(key, block);
    block.end = this.#ends.set(performance.now() + block.untilMs - this.nowMs(), () => {
      this.#end(key);
      this.to.vacant();
    });
    if (this.#blocks.size <= BLOCKS_MAX) return;
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined) this.#end(oldest);
  }

  #end(key: string): void {
    const block = this.#blocks.get(key);
    if (block === undefined) return;
    this.#forget(key);
    block.end?.off();
    this.to.throttleEnded(block);
  }

  /** A stranger can tell of any number of groups. */
  #seeFreed(key: string): void {
    if (this.#isAsking && this.#freed.size < BLOCKS_MAX) this.#freed.add(key);
  }

  #number(key: string, block: KnownBlock): void {
    if (block.group === '') return;
    const number = numbered(block.name, block.group);
    block.numbered = number;
    const keys = this.#numbered.get(number);
    if (keys === undefined) this.#numbered.set(number, new Set([key]));
    else keys.add(key);
  }

  #forget(key: string): void {
    const number = this.#blocks.get(key)?.numbered;
    this.#blocks.delete(key);
    if (number === undefined) return;
    const keys = this.#numbered.get(number);
    if (keys?.delete(key) === true && keys.size === 0) this.#numbered.delete(number);
  }

  #free(key: string): void {
    this.#seeFreed(key);
    if (this.#blocks.get(key)?.isFull === true) this.#end(key);
  }

  #isBlocked(key: string, nowMs: number): boolean {
    return (this.#blocks.get(key)?.untilMs ?? -Infinity) > nowMs;
  }
}

/** No name begins like that, so it stands apart from each {@link groupText}. */
const numberText = (name: string, number: number): string => `#${number} ${name}`;

const numbered = (name: string, group: string): string => numberText(name, groupNumber(group));

/** Handlers of one name that outlived their timeout and still run, at most, before it rests. */
const LINGERING_MAX = 1_000;

/** A name that rested is worth another word only after it was well again: it may rest with every timeout. */
const WELL_AGAIN = LINGERING_MAX / 2;

/** What one wheel can hold: a process with so many handlers in flight has run out of memory before. */
const IN_ALL_MAX = 2 ** 24;

/**
 * How many calls may run: a number per name, and one for all transactional handlers together, because each
 * of them holds a connection of the application's pool.
 */
export class ConcurrencyLimits {
  readonly #taken = new Map<string, number>();
  readonly #lingering = new Map<string, number>();
  readonly #resting = new Set<string>();
  #transactional = 0;

  constructor(
    private readonly registry: HandlerRegistry,
    private readonly transactionalMax: number,
    private readonly events: DelayEvents,
    private readonly onVacant: () => void,
  ) {}

  /** Of all names together: calls that may be in flight. */
  get inAll(): number {
    let inAll = 0;
    for (const { concurrency } of this.registry.all()) inAll += concurrency;
    return Math.min(IN_ALL_MAX, Math.max(1, inAll));
  }

  /** The limits of the name on all nodes together. */
  acrossNodes(name: string): HandlerLimits | null {
    return this.registry.get(name)?.limits ?? null;
  }

  /** Begins a call of that name, if it may. */
  acquire(name: string): boolean {
    const handler = this.registry.get(name);
    if (handler === undefined || this.lingering(name) >= LINGERING_MAX) return false;
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
    this.#taken.set(name, (this.#taken.get(name) ?? 0) - 1);
    if (this.registry.get(name)?.transactional) this.#transactional -= 1;
  }

  /** A handler still runs although its attempt is over. @returns how many of that name do */
  linger(name: string): number {
    const count = this.lingering(name) + 1;
    this.#lingering.set(name, count);
    if (count >= LINGERING_MAX && !this.#resting.has(name)) {
      this.#resting.add(name);
      this.events.emit('advice', { message: restOf(name, count) });
    }
    return count;
  }

  lingerNoMore(name: string): void {
    const count = this.lingering(name) - 1;
    this.#lingering.set(name, count);
    if (count <= WELL_AGAIN) this.#resting.delete(name);
    if (count === LINGERING_MAX - 1) this.onVacant();
  }

  lingering(name: string): number {
    return this.#lingering.get(name) ?? 0;
  }
}

const restOf = (name: string, lingering: number): string =>
  `${name} rests on this node: ${lingering} of its handlers outlived their timeout and still run; ` +
  'it goes on as they end (a handler should end when ctx.signal aborts)';

/** Of its lease, a claim that takes longer is too large: what it brings has to run within the rest. */
const LEASE_SHARE = 1 / 6;

/** A statement is slow from then on, however long the leases are. */
const SLOW_MS_MAX = 5_000;

interface NameSize {
  size: StatementSize;
  /** It was in a claim that failed, perhaps because of another name. */
  hasFailed: boolean;
}

/**
 * How many of a name one claim asks for. A name whose claims failed, or were slow, is claimed by itself and in smaller
 * numbers, so that its large payloads, or the slow trigger of its rows, shrink no other name's claims. One such claim is on its
 * way at a time: the other place is for names that are well.
 *
 * What failed together is halved until one delay stands alone: whichever half is well runs.
 */
export class ClaimSizes {
  readonly #names = new Map<string, NameSize>();
  #isApartOnItsWay = false;

  /** @param max of one claim, at most */
  constructor(
    private readonly max: number,
    private readonly leaseMsOf: (name: string) => number,
  ) {}

  /** Whether that entry is claimed with others of its name alone. */
  isApart({ name, claimedWithin }: Entry): boolean {
    return claimedWithin !== undefined || this.#names.has(name);
  }

  /** Whether a claim of a name by itself may begin now. */
  get mayClaimApart(): boolean {
    return !this.#isApartOnItsWay;
  }

  /** How many one claim may ask for that asks for this entry. */
  mostWith({ name, claimedWithin = Infinity }: Entry): number {
    return Math.min(this.#names.get(name)?.size.now ?? this.max, claimedWithin);
  }

  /** A claim of these is about to be sent. @returns to be called when it has ended */
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
    known.hasFailed = false;
    known.size.worked(entries.length, tookMs);
    if (known.size.isWhole) this.#names.delete(name);
  }

  /** Too much for one claim, or one of them is refused. */
  failed(entries: readonly Entry[]): void {
    const half = Math.max(1, Math.floor(entries.length / 2));
    for (const entry of entries) entry.claimedWithin = half;
    const names = namesOf(entries);
    for (const name of names) {
      const { size } = this.#watched(name);
      if (names.size === 1) size.failed(entries.length);
    }
  }

  #watched(name: string): NameSize {
    let known = this.#names.get(name);
    if (known === undefined) {
      known = { size: new StatementSize(this.max, this.#slowMs(name)), hasFailed: true };
      this.#names.set(name, known);
    }
    known.hasFailed = true;
    return known;
  }

  #slowMs(name: string): number {
    return Math.min(SLOW_MS_MAX, this.leaseMsOf(name) * LEASE_SHARE);
  }
}

const namesOf = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(entries.map(({ name }) => name));

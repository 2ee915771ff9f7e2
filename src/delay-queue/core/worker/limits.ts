import type { LimitLeft } from '../store/limit.store.js';
import { groupNumber } from '../store/rows/attempt-rows.js';
import { groupText } from '../store/rows/delay-rows.js';
import { type WheelService } from '../timer-wheel/wheel.service.js';
import { Deadlines } from '../timer-wheel/deadlines.js';
import type { NameStates, Throttle } from './name-state.js';

/**
 * A claim checks again for a slot after this long: its holder may have died, or the hint got lost.
 */
const LOOK_AGAIN_MS = 2_000;

/**
 * Beyond this many, the oldest limit is forgotten: the next claim that meets it learns of it again.
 */
const THROTTLES_MAX = 200_000;

/** What throttles report. */
export interface ThrottlePort {
  /** That limit throttles nothing any more; group '' is the whole name. */
  throttleEnded(throttle: Throttle): void;
  /** There may be capacity. */
  vacant(): void;
}

/**
 * Limits that had no slot left at the last claim; each is also in the state of its name. Throttled
 * entries stay in the ready queue until a slot may be free. No delay costs an iteration over the
 * limits: there may be one for each of many thousand tenants.
 */
export class Throttles {
  /** A claim under limits is in flight; a second one would take a group out of order. */
  isAsking = false;
  /** Oldest first. */
  readonly #throttles = new Set<Throttle>();
  readonly #ends: Deadlines;
  /**
   * Limits of which an attempt ended while a claim was in flight, which may not have seen that.
   */
  readonly #freed = new Set<string>();
  /** Throttled groups by name and number of the group: hints of other nodes carry no group text. */
  readonly #numbered = new Map<string, Set<Throttle>>();

  constructor(
    wheel: WheelService,
    private readonly names: Pick<NameStates, 'find'>,
    private readonly to: ThrottlePort,
    readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#ends = new Deadlines(wheel, THROTTLES_MAX + 1);
  }

  close(): void {
    this.#ends.close();
  }

  ask(): void {
    this.isAsking = true;
    this.#freed.clear();
  }

  answered(): void {
    this.isAsking = false;
  }

  /** Takes over what a claim reported of the limits that it met. */
  learn(left: readonly LimitLeft[]): void {
    const nowMs = this.nowMs();
    for (const { name, group, slots, waitMs } of left) {
      const of = this.names.find(name);
      if (of === undefined) continue;
      if (slots > 0) this.#end(of.throttles.get(group));
      else if (waitMs > 0) this.#begin({ of, group, untilMs: nowMs + waitMs, isFull: false });
      else if (
        !this.#freed.has(groupText(name, group)) &&
        !this.#freed.has(numbered(name, group))
      ) {
        this.#begin({ of, group, untilMs: nowMs + LOOK_AGAIN_MS, isFull: true });
      }
    }
  }

  /** Forgets all of it: the database's clock has jumped. */
  clear(): void {
    for (const throttle of this.#throttles) this.#end(throttle);
    this.to.vacant();
  }

  /** An attempt of that name and group has ended, here or elsewhere. */
  freed(name: string, group: string | null): void {
    this.#free(name, '');
    if (group !== null) this.#free(name, group);
    this.to.vacant();
  }

  /** The same for an attempt on another node, of whose group only the number is known. */
  freedElsewhere(name: string, number: number | null): void {
    this.#free(name, '');
    if (number !== null) {
      const key = numberText(name, number);
      this.#seeFreed(key);
      for (const throttle of this.#numbered.get(key) ?? []) this.#free(name, throttle.group);
    }
    this.to.vacant();
  }

  /**
   * Milliseconds until the first limit may end; Infinity: none. Iterates over all: for `manual`.
   */
  leftMs(): number {
    let firstMs = Infinity;
    for (const { untilMs } of this.#throttles) firstMs = Math.min(firstMs, untilMs);
    return Math.max(0, firstMs - this.nowMs());
  }

  #begin(throttle: Throttle): void {
    const { of, group, untilMs } = throttle;
    const known = of.throttles.get(group);
    if (known !== undefined) this.#forget(known);
    this.#throttles.add(throttle);
    of.throttles.set(group, throttle);
    this.#number(throttle);
    const end = this.#ends.set(performance.now() + untilMs - this.nowMs(), () => {
      this.#end(throttle);
      this.to.vacant();
    });
    if (end !== undefined) throttle.end = end;
    if (this.#throttles.size <= THROTTLES_MAX) return;
    const [oldest] = this.#throttles;
    this.#end(oldest);
  }

  #end(throttle: Throttle | undefined): void {
    if (throttle === undefined) return;
    this.#forget(throttle);
    this.to.throttleEnded(throttle);
  }

  #forget(throttle: Throttle): void {
    const { of, group, end, numbered: number } = throttle;
    end?.off();
    this.#throttles.delete(throttle);
    of.throttles.delete(group);
    if (number === undefined) return;
    const same = this.#numbered.get(number);
    if (same?.delete(throttle) === true && same.size === 0) this.#numbered.delete(number);
  }

  #number(throttle: Throttle): void {
    const { of, group } = throttle;
    if (group === '') return;
    const number = numbered(of.name, group);
    throttle.numbered = number;
    const same = this.#numbered.get(number);
    if (same === undefined) this.#numbered.set(number, new Set([throttle]));
    else same.add(throttle);
  }

  /** Bounded: any login can send hints of any number of groups. */
  #seeFreed(key: string): void {
    if (this.isAsking && this.#freed.size < THROTTLES_MAX) this.#freed.add(key);
  }

  #free(name: string, group: string): void {
    this.#seeFreed(groupText(name, group));
    const throttle = this.names.find(name)?.throttles.get(group);
    if (throttle?.isFull === true) this.#end(throttle);
  }
}

/** No name begins with `#`, so this differs from every {@link groupText}. */
const numberText = (name: string, number: number): string => `#${number} ${name}`;

const numbered = (name: string, group: string): string => numberText(name, groupNumber(group));

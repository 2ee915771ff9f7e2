import assert from 'node:assert/strict';
import {
  NO_INDEX,
  NO_TIMER,
  TimingWheel,
} from '../../../src/delay-queue/core/timer-wheel/timing-wheel.js';

interface Timer {
  id: number;
  deadlineMs: number;
  /** When it is to fire: the deadline rounded up, or the time of adding when that was later. */
  tickMs: number;
  /** Within a tick the order of adding counts, and moving counts as adding. */
  order: number;
  wasPast: boolean;
}

export interface Geometry {
  capacity: number;
  originMs: number;
  /** A power of two, so that parts of a millisecond are exact. Default 1. */
  ticksPerMs?: number;
  cascadeLimit: number;
  limit: number;
}

/** A timing wheel and the obvious implementation, a list, side by side: every step is compared. */
export class WheelBesideList {
  readonly wheel: TimingWheel;
  readonly fired: Timer[] = [];
  /** Of all timers ever, by id: stale ones are worth trying, too. */
  readonly handles: number[] = [];
  readonly #list = new Map<number, Timer>();
  readonly #idByIndex: number[] = [];
  readonly #expired: Int32Array;
  readonly #ticksPerMs: number;
  #nowMs: number;
  #orders = 0;

  constructor(readonly geometry: Geometry) {
    this.wheel = new TimingWheel(geometry);
    this.#expired = new Int32Array(geometry.limit);
    this.#ticksPerMs = geometry.ticksPerMs ?? 1;
    this.#nowMs = this.#down(geometry.originMs);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get caughtUp(): boolean {
    return this.wheel.nextExpiry() > this.#nowMs;
  }

  add(deadlineMs: number): void {
    const handle = this.wheel.add(deadlineMs);
    if (this.#list.size === this.geometry.capacity) {
      assert.equal(handle, NO_TIMER);
      return;
    }
    const id = this.handles.push(handle) - 1;
    this.#idByIndex[this.wheel.indexOf(handle)] = id;
    this.#list.set(id, this.#timer(id, deadlineMs));
  }

  cancel(id: number): void {
    assert.equal(this.wheel.cancel(this.handles[id]!), this.#list.delete(id));
  }

  move(id: number, deadlineMs: number): void {
    assert.equal(this.wheel.move(this.handles[id]!, deadlineMs), this.#list.has(id));
    if (this.#list.has(id)) this.#list.set(id, this.#timer(id, deadlineMs));
  }

  /** One bounded advance: what it gives back was waiting, and is not early. */
  step(nowMs: number): void {
    this.#nowMs = Math.max(nowMs, this.#nowMs);
    const count = this.wheel.advance(nowMs, this.#expired);
    assert.ok(count <= this.geometry.limit);
    for (const index of this.#expired.subarray(0, count)) {
      const timer = this.#list.get(this.#idByIndex[index]!);
      assert.ok(timer, 'fired twice, or after it was cancelled');
      assert.ok(timer.deadlineMs <= nowMs, 'early');
      this.#list.delete(timer.id);
      this.fired.push(timer);
    }
  }

  /** Advances until nothing is due any more: then exactly the due ones are gone, in order. */
  advance(nowMs: number): void {
    const before = this.fired.length;
    // Within one tick, the wheel does not know back from forth.
    const isBack = this.#down(nowMs) < this.#down(this.#nowMs);
    const due = isBack ? [] : this.#sorted().filter(({ tickMs }) => tickMs <= nowMs);
    this.step(nowMs);
    if (!isBack) while (!this.caughtUp) this.step(nowMs);
    assert.deepEqual(this.fired.slice(before), due);
  }

  /** What goes is a farthest one, to within the width of a slot. */
  evictFarthest(afterMs: number): void {
    const farthest = this.#sorted().at(-1);
    const index = this.wheel.evictFarthest(afterMs);
    const evicted = this.#list.get(this.#idByIndex[index]!);
    if (evicted !== undefined) {
      assert.ok(evicted.tickMs > afterMs);
      this.#list.delete(evicted.id);
    }
    assert.equal(index === NO_INDEX, evicted === undefined);
    if (farthest === undefined) return;
    const originMs = this.#down(this.geometry.originMs);
    const tickOf = (ms: number) => (ms - originMs) * this.#ticksPerMs;
    const width = slotWidth(tickOf(this.#nowMs), tickOf(farthest.tickMs));
    const keyText = (ms: number) => Math.floor(tickOf(ms) / width);
    assert.ok(keyText(evicted?.tickMs ?? this.#up(afterMs)) >= keyText(farthest.tickMs));
  }

  check(): void {
    assert.equal(this.wheel.size, this.#list.size);
    const nextMs = this.wheel.nextExpiry();
    assert.ok(nextMs <= (this.#sorted()[0]?.tickMs ?? Infinity));
    assert.equal(nextMs === Infinity, this.#list.size === 0);
  }

  /** Nobody is to be woken for what cannot be due yet. */
  checkAhead(): void {
    const firstMs = this.#sorted()[0]?.tickMs ?? Infinity;
    if (firstMs > this.#nowMs) assert.ok(this.wheel.nextExpiry() > this.#nowMs);
  }

  #timer(id: number, deadlineMs: number): Timer {
    const tickMs = Math.max(this.#up(deadlineMs), this.#down(this.#nowMs));
    return { id, deadlineMs, tickMs, order: this.#orders++, wasPast: deadlineMs <= this.#nowMs };
  }

  #up(ms: number): number {
    return Math.ceil(ms * this.#ticksPerMs) / this.#ticksPerMs;
  }

  #down(ms: number): number {
    return Math.floor(ms * this.#ticksPerMs) / this.#ticksPerMs;
  }

  #sorted(): Timer[] {
    return [...this.#list.values()].toSorted((a, b) => a.tickMs - b.tickMs || a.order - b.order);
  }
}

/** Straight from the drawing, with big integers: how wide is the slot in which a tick stands? */
function slotWidth(cursor: number, tick: number): number {
  const differs = BigInt(Math.floor(cursor)) ^ BigInt(tick);
  for (const level of [0n, 1n, 2n, 3n]) {
    if (differs < 2n ** (10n * level + 10n)) return Number(2n ** (10n * level));
  }
  return Infinity;
}

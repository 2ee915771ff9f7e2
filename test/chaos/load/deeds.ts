import type { RescheduleTo } from 'nestjs-delay-queue';
import type { Random } from '../../../src/random.js';
import type { Client, Step } from './client.js';
import { DatabaseTime } from './database-time.js';
import { Keys } from './keys.js';
import type { Shopper } from './shopper.js';
import { weighed } from './weighed.js';
import { isDoomed, type Wish, Wishes } from './wishes.js';

/** Somebody's transaction that stays open: longer than looks pause, shorter than they go on. */
const HOLDS_MS_MAX = 3_000;

/** Something that a producer does, and how many delays it asks for. */
export interface Deed {
  delays: number;
  run: () => Promise<unknown>;
}

/** What a producer does next, and next. */
export class Deeds {
  readonly #time = new DatabaseTime();
  readonly #keys = new Keys();
  readonly #wishes: Wishes;

  constructor(
    private readonly random: Random,
    client: string,
    private readonly calls: Client,
    private readonly shopper: Shopper,
    /** Resolves early when the producer stops. */
    private readonly wait: (ms: number) => Promise<void>,
  ) {
    this.#wishes = new Wishes(random.fork('wishes'), client, this.#time);
  }

  /** @param poisonChance how likely it is one that kills its worker */
  next(poisonChance: number): Deed {
    if (this.random.chance(poisonChance)) return this.#poison();
    return weighed<() => Deed>(this.random, [
      [55, () => this.#single()],
      [2, () => this.#many(this.#wishes.several(this.random.integer(5, 50)))],
      [1, () => this.#many(this.#wishes.crowd(this.random.integer(5, 50)))],
      [14, () => this.#transaction()],
      [8, () => this.#cancel()],
      [8, () => this.#reschedule()],
      [3, () => this.#retryDead()],
      [4, () => this.#shop()],
    ])();
  }

  #poison(): Deed {
    const wish = this.#wishes.poison();
    return { delays: 1, run: () => this.calls.schedule(wish) };
  }

  #single(): Deed {
    const wish = this.#wishes.next();
    return {
      delays: 1,
      run: async () => {
        const askedAtMs = performance.now();
        this.#remember(wish);
        const result = await this.calls.schedule(wish);
        const { after } = wish.options;
        const isNew = result?.verdict === 'scheduled' || result?.verdict === 'replaced';
        if (typeof after === 'number' && result && isNew) {
          this.#time.heard(after, askedAtMs, result.dueAt);
        }
      },
    };
  }

  #many(wishes: readonly Wish[]): Deed {
    return {
      delays: wishes.length,
      run: () => {
        for (const wish of wishes) this.#remember(wish);
        return this.calls.scheduleMany(wishes);
      },
    };
  }

  #transaction(): Deed {
    const steps = this.#steps(this.random.integer(1, 3));
    const manners = {
      undone: this.random.chance(0.15) ? this.#steps(this.random.integer(1, 2)) : [],
      areParallel: this.random.chance(0.4),
      holdsMs: this.random.chance(0.03) ? this.random.integer(500, HOLDS_MS_MAX) : 0,
      swallowsError: this.random.chance(0.1),
      rollsBack: this.random.chance(0.15),
    };
    return { delays: steps.length, run: () => this.calls.transaction(steps, manners) };
  }

  #steps(count: number): Step[] {
    return Array.from({ length: count }, () => this.#step());
  }

  #step(): Step {
    const used = this.#keys.any(this.random);
    const wish = this.#wishes.next();
    const schedule = (): Step => {
      this.#remember(wish);
      return this.calls.scheduling(wish);
    };
    if (used === undefined) return schedule();
    return weighed<() => Step>(this.random, [
      [60, schedule],
      [20, () => this.calls.cancelling(used.name, used.key)],
      [20, () => this.calls.rescheduling(used.name, used.key, this.#to())],
    ])();
  }

  #cancel(): Deed {
    const used = this.#keys.any(this.random);
    if (used === undefined) return this.#single();
    return this.#closeTo(used.dueAtMs, () => this.calls.cancel(used.name, used.key));
  }

  #reschedule(): Deed {
    const used = this.#keys.any(this.random);
    if (used === undefined) return this.#single();
    const to = this.#to();
    return this.#closeTo(used.dueAtMs, () => this.calls.reschedule(used.name, used.key, to));
  }

  #retryDead(): Deed {
    const used = this.#keys.dead(this.random);
    if (used === undefined) return this.#single();
    return { delays: 0, run: () => this.calls.retryDead(used.name, used.key) };
  }

  #shop(): Deed {
    const random = this.random.fork(`shopper ${this.random.next()}`);
    return { delays: 1, run: () => this.shopper.shop(random) };
  }

  #to(): RescheduleTo {
    return this.random.chance(0.3)
      ? { extendBy: this.random.integer(1, 2_000) }
      : { after: this.random.integer(0, 4_000) };
  }

  /** Half of the time at once; else when the handler begins, or is just under way. */
  #closeTo(dueAtMs: number, call: () => Promise<void>): Deed {
    const atMs = this.random.chance(0.5) ? 0 : dueAtMs + this.random.integer(-30, 300);
    return {
      delays: 0,
      run: async () => {
        await this.wait(Math.max(0, atMs - performance.now()));
        await call();
      },
    };
  }

  #remember(wish: Wish): void {
    const { name, options } = wish;
    const { key, after } = options;
    if (key === undefined) return;
    const dueAtMs = performance.now() + (typeof after === 'number' ? after : 0);
    this.#keys.used({ name, key, dueAtMs, dies: isDoomed(wish) });
  }
}

import type { RescheduleTo } from 'nestjs-delay-queue';
import type { Random } from '../../../src/random.js';
import type { Call, Client } from './client.js';
import { GROUPS, PAUSE_MS_MAX } from './limits.js';
import type { ChaosName } from './payloads.js';
import type { Shopper } from './shopper.js';
import { weighed } from './weighed.js';
import { isDoomed, type Wish, Wishes } from './wishes.js';

/** Somebody's transaction that stays open: longer than looks pause, shorter than they go on. */
const HOLDS_MS_MAX = 3_000;

/** Keys used before are forgotten. */
const REMEMBERED = 200;

/** Something that a producer does, and how many delays it asks for. */
export interface Deed {
  delays: number;
  run: () => Promise<unknown>;
}

/** A key that was used lately: what a client cancels, moves and retries. */
interface UsedKey {
  name: ChaosName;
  key: string;
  /** On the monotonic clock, as far as the client knows. */
  dueAtMs: number;
}

/** What a producer does next, and next. */
export class Deeds {
  readonly #living: UsedKey[] = [];
  /** Their handlers make dead letters of them. */
  readonly #dying: UsedKey[] = [];
  readonly #wishes: Wishes;

  constructor(
    private readonly random: Random,
    client: string,
    private readonly calls: Client,
    private readonly shopper: Shopper,
    /** Resolves early when the producer stops. */
    private readonly wait: (ms: number) => Promise<void>,
  ) {
    this.#wishes = new Wishes(random.fork('wishes'), client);
  }

  next(): Deed {
    const { random } = this;
    return weighed<() => Deed>(random, [
      [55, () => this.#single()],
      [2, () => this.#many(this.#wishes.several())],
      [1, () => this.#many(this.#wishes.crowd())],
      [14, () => this.#transaction()],
      [5, () => this.#closeToDue(({ name, key }) => this.calls.cancelling(name, key))],
      [5, () => this.#closeToDue(({ name, key }) => this.calls.aborting(name, key))],
      [8, () => this.#closeToDue(({ name, key }) => this.#rescheduling(name, key))],
      [3, () => this.#retryDead()],
      [4, () => this.#shop()],
      [1, () => this.#pause()],
    ])();
  }

  #single(): Deed {
    const wish = this.#wishes.next();
    return {
      delays: 1,
      run: async () => {
        const askedAtMs = performance.now();
        this.#remember(wish);
        const told = await this.calls.alone(this.calls.scheduling(wish));
        const isNew = told?.verdict === 'scheduled' || told?.verdict === 'replaced';
        if (isNew && told.dueAt) this.#wishes.heard(wish, askedAtMs, told.dueAt);
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
    const { random } = this;
    const calls = this.#calls(random.integer(1, 3));
    const manners = {
      undone: random.chance(0.15) ? this.#calls(random.integer(1, 2)) : [],
      areParallel: random.chance(0.4),
      holdsMs: random.chance(0.03) ? random.integer(500, HOLDS_MS_MAX) : 0,
      swallowsError: random.chance(0.1),
      rollsBack: random.chance(0.15),
    };
    return { delays: calls.length, run: () => this.calls.transaction(calls, manners) };
  }

  #calls(count: number): Call[] {
    return Array.from({ length: count }, () => {
      const used = this.#usedKey();
      const wish = this.#wishes.next();
      const schedule = (): Call => {
        this.#remember(wish);
        return this.calls.scheduling(wish);
      };
      if (used === undefined) return schedule();
      return weighed<() => Call>(this.random, [
        [60, schedule],
        [15, () => this.calls.cancelling(used.name, used.key)],
        [5, () => this.calls.aborting(used.name, used.key)],
        [20, () => this.#rescheduling(used.name, used.key)],
      ])();
    });
  }

  #rescheduling(name: ChaosName, key: string): Call {
    const to: RescheduleTo = this.random.chance(0.3)
      ? { extendBy: this.random.integer(1, 2_000) }
      : { after: this.random.integer(0, 4_000) };
    return this.calls.rescheduling(name, key, to);
  }

  /** Half of the time at once; else when the handler begins, or is just under way. */
  #closeToDue(callAbout: (used: UsedKey) => Call): Deed {
    const used = this.#usedKey();
    if (used === undefined) return this.#single();
    const call = callAbout(used);
    const atMs = this.random.chance(0.5) ? 0 : used.dueAtMs + this.random.integer(-30, 300);
    return {
      delays: 0,
      run: async () => {
        await this.wait(Math.max(0, atMs - performance.now()));
        await this.calls.alone(call);
      },
    };
  }

  #retryDead(): Deed {
    const used = this.#usedKey(0);
    if (used === undefined) return this.#single();
    const call = this.calls.retrying(used.name, used.key);
    return { delays: 0, run: () => this.calls.alone(call) };
  }

  #shop(): Deed {
    const random = this.random.fork(`shopper ${this.random.next()}`);
    return { delays: 1, run: () => this.shopper.shop(random) };
  }

  #pause(): Deed {
    const group = this.random.chance(0.5) ? this.random.pick(GROUPS) : undefined;
    const forMs = this.random.integer(1_000, PAUSE_MS_MAX);
    // Some end by themselves.
    const resumesAfterMs = this.random.integer(1_000, PAUSE_MS_MAX);
    return {
      delays: 0,
      run: async () => {
        await this.calls.pause(group, forMs);
        await this.wait(resumesAfterMs);
        await this.calls.resume(group);
      },
    };
  }

  #usedKey(chanceToLive = 0.9): UsedKey | undefined {
    const keys = this.random.chance(chanceToLive) ? this.#living : this.#dying;
    return keys.length === 0 ? undefined : this.random.pick(keys);
  }

  #remember(wish: Wish): void {
    const { name, options } = wish;
    const { key, after } = options;
    if (key === undefined) return;
    const dueAtMs = performance.now() + (typeof after === 'number' ? after : 0);
    const keys = isDoomed(wish) ? this.#dying : this.#living;
    keys.push({ name, key, dueAtMs });
    if (keys.length > REMEMBERED) keys.shift();
  }
}

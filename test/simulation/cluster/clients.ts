import type { Random } from '../../../src/random.js';
import type { DelayService, Duration } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import type { Kind } from '../scenario.js';
import type { Cluster } from './cluster.js';
import type { SimNode } from './sim-node.js';

/** How often several calls are made in one turn of the event loop. */
const TOGETHER_CHANCE = 0.2;

/** The far future: due long after the end of any run. */
const FAR_MS = 3_600_000;

/** Somebody's transaction that stays open, with the locks that it has. */
const HOLDS_MS_MAX = 3_000;

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What was asked for, and what was answered. */
type Told = [what: string, answer: string];

type Act = (node: SimNode, name: Kind['name'], key: string) => Promise<Told>;

/** Callers from outside, each at its own pace: they schedule, cancel, move and revive. */
export class Clients {
  readonly #random: Random;
  #calls = 0;

  constructor(private readonly cluster: Cluster) {
    this.#random = cluster.world.random.fork('clients');
    const { clients, callsFromMs } = cluster.world.scenario;
    for (let client = 1; client <= clients; client += 1) {
      this.#comeBack(`user ${client}`, callsFromMs);
    }
  }

  #comeBack(who: string, afterMs = 20): void {
    const { timeline } = this.cluster.world;
    timeline.after(afterMs + this.#random.next() ** 2 * 1_800, () => {
      if (!this.cluster.isTrouble) return;
      const { serving } = this.cluster;
      if (serving.length > 0) {
        const node = this.#random.pick(serving);
        node.process.run(() => this.#callThrough(node, who));
      }
      this.#comeBack(who);
    });
  }

  /** Calls of one turn travel in few statements, also those of the same key, one after the other. */
  #callThrough(node: SimNode, who: string): void {
    const random = this.#random;
    if (!random.chance(TOGETHER_CHANCE)) {
      void this.#call(who, node, random.chance(0.7) ? this.#one : this.#several);
      return;
    }
    for (let left = random.integer(2, 10); left > 0; left -= 1) {
      void this.#call(who, node, this.#one);
    }
  }

  async #call(who: string, node: SimNode, act: Act): Promise<void> {
    const { answers, world } = this.cluster;
    const random = this.#random;
    const name = random.pick(world.scenario.kinds).name;
    const key = `k${random.integer(1, world.scenario.keys)}`;
    answers.asked(node);
    try {
      const [what, answer] = await act(node, name, key);
      world.note(who, `${what} ${name} ${key} through ${node.name}: ${answer}`);
    } catch (error) {
      world.note(who, `${name} ${key} through ${node.name} failed: ${String(error)}`);
    } finally {
      answers.answered(node);
    }
  }

  /** A call about one delay, outside of every transaction. */
  readonly #one: Act = async ({ delays }, name, key) => {
    const random = this.#random;
    const { answers } = this.cluster;
    const after = this.#after();
    switch (random.integer(0, 8)) {
      case 0:
      case 1:
      case 2: {
        const payload = this.#payload();
        const onConflict = random.pick(['replace', 'keep', 'error', 'earlier', 'later'] as const);
        const options = { after, key, onConflict, ...this.#attempts() };
        const result = await delays.schedule(name, payload, options);
        answers.told({ name, key, payload }, result);
        return ['schedule', result.verdict];
      }
      case 3:
      case 4: {
        const payload = this.#payload();
        // Without a key nobody moves it any more: it stays far.
        const at = random.chance(0.1) ? FAR_MS : after;
        const result = await delays.schedule(name, payload, { after: at });
        answers.told({ name, key: null, payload }, result);
        return ['schedule', result.id];
      }
      case 5:
      case 6: {
        const result = await delays.cancel(name, key);
        answers.told({ name, key }, result);
        return ['cancel', result.verdict];
      }
      case 7: {
        const to = random.chance(0.5) ? { after } : { extendBy: random.integer(1, 3_000) };
        const result = await delays.reschedule(name, key, to);
        answers.told({ name, key }, result);
        return ['reschedule', result.verdict];
      }
      default: {
        const result = await delays.retryDead(name, key);
        answers.told({ name, key }, result);
        return ['revive', result.verdict];
      }
    }
  };

  /** About several, in one call or in one transaction. */
  readonly #several: Act = async ({ delays, dataSource }, name, key) => {
    const random = this.#random;
    const { world } = this.cluster;
    if (random.chance(0.33)) {
      const count = random.integer(1, 12);
      const items = Array.from({ length: count }, (_, n) => ({
        name,
        payload: { n },
        after: this.#after(),
        ...(random.chance(0.3) ? { key: `k${n + 1}` } : {}),
      }));
      const results = await delays.scheduleMany(items);
      return ['schedule many', results.map(({ verdict }) => verdict).join()];
    }
    const isGood = random.chance(0.7);
    const answer = await dataSource
      .transaction(async (manager) => {
        if (random.chance(0.3)) await this.#undone(delays, name, manager);
        await later(random.next() * 100);
        const verdicts = await this.#written(delays, name, key, manager);
        // Whoever is held is late.
        if (!world.scenario.isCalm && random.chance(0.05)) {
          await later(random.next() * HOLDS_MS_MAX);
        }
        if (!isGood) throw new Error('the order cannot be placed');
        return verdicts.join();
      })
      .catch((error: unknown) => `rolled back: ${String(error)}`);
    return ['cancel and schedule', answer];
  };

  /** A part of a transaction that comes to nothing: what memory has heard of it must not count. */
  async #undone(delays: DelayService, name: Kind['name'], manager: EntityManager): Promise<void> {
    const key = `k${this.#random.integer(1, this.cluster.world.scenario.keys)}`;
    // Later than the row says, and near enough to be kept in mind.
    const after = this.#random.integer(1_000, 9_000);
    const write = async (within: EntityManager): Promise<void> => {
      await delays.reschedule(name, key, { after }, { manager: within });
      await delays.schedule(name, { n: 3 }, { after: this.#after(), manager: within });
    };
    if (this.#random.chance(0.5)) {
      // TypeORM knows nothing of this one.
      await manager.query('SAVEPOINT by_hand');
      await write(manager);
      await manager.query('ROLLBACK TO SAVEPOINT by_hand');
      await manager.query('RELEASE SAVEPOINT by_hand');
      return;
    }
    const nested = manager.transaction(async (within) => {
      await write(within);
      throw new Error('undone');
    });
    await nested.catch(() => {});
  }

  /** One after the other, or side by side on one connection. */
  async #written(
    delays: DelayService,
    name: Kind['name'],
    key: string,
    manager: EntityManager,
  ): Promise<string[]> {
    const random = this.#random;
    const after = this.#after();
    const other = `k${random.integer(1, this.cluster.world.scenario.keys)}`;
    const calls = [
      () => delays.cancel(name, key, { manager }),
      () => delays.schedule(name, { n: 2 }, { after, key, manager }),
      () => delays.reschedule(name, other, { after }, { manager }),
    ];
    if (random.chance(0.3)) {
      const answers = await Promise.allSettled(calls.map((call) => call()));
      return answers.map((one) => {
        if (one.status === 'rejected') throw one.reason;
        return one.value.verdict;
      });
    }
    const verdicts: string[] = [];
    for (const call of calls) verdicts.push((await call()).verdict);
    return verdicts;
  }

  /** Another one for each call: what was written for it can be told from all the rest. */
  #payload(): { call: number } {
    this.#calls += 1;
    return { call: this.#calls };
  }

  #after(): Duration {
    const random = this.#random;
    if (random.chance(0.1)) return 0;
    return random.integer(1, random.pick([100, 2_000, 9_000]));
  }

  #attempts(): { maxAttempts?: number } {
    return this.#random.chance(0.2) ? { maxAttempts: this.#random.integer(1, 3) } : {};
  }
}

import type { Random } from '../../support/random.js';
import type { Duration } from 'nestjs-delay-queue';
import type { Kind } from '../scenario.js';
import type { Cluster } from './cluster.js';
import type { SimNode } from './sim-node.js';

/** The far future: due long after the end of any run. */
const FAR_MS = 3_600_000;

/** Callers from outside, each at its own pace: they schedule, cancel, move and revive. */
export class Clients {
  readonly #random: Random;

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
        node.process.run(() => void this.#call(who, node));
      }
      this.#comeBack(who);
    });
  }

  async #call(who: string, node: SimNode): Promise<void> {
    const { world } = this.cluster;
    const random = this.#random;
    const name = random.pick(world.scenario.kinds).name;
    const key = `k${random.integer(1, world.scenario.keys)}`;
    try {
      const [what, answer] = await this.#act(node, name, key);
      world.note(who, `${what} ${name} ${key} through ${node.name}: ${answer}`);
    } catch (error) {
      world.note(who, `${name} ${key} through ${node.name} failed: ${String(error)}`);
    }
  }

  async #act(
    node: SimNode,
    name: Kind['name'],
    key: string,
  ): Promise<[what: string, answer: string]> {
    const random = this.#random;
    const { delays, dataSource } = node;
    const after = this.#after();
    switch (random.integer(0, 11)) {
      case 0:
      case 1:
      case 2: {
        const onConflict = random.pick(['replace', 'keep', 'error'] as const);
        const options = { after, key, onConflict, ...this.#attempts() };
        return ['schedule', (await delays.schedule(name, { n: 1 }, options)).verdict];
      }
      case 3:
      case 4: {
        // Without a key nobody moves it any more: it stays far.
        const at = random.chance(0.1) ? FAR_MS : after;
        return ['schedule', (await delays.schedule(name, { n: 1 }, { after: at })).id];
      }
      case 5: {
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
      case 6:
      case 7:
        return ['cancel', (await delays.cancel(name, key)).verdict];
      case 8: {
        const to = random.chance(0.5) ? { after } : { extendBy: random.integer(1, 3_000) };
        return ['reschedule', (await delays.reschedule(name, key, to)).verdict];
      }
      case 9:
        return ['revive', (await delays.retryDead(name, key)).verdict];
      default: {
        const isGood = random.chance(0.7);
        const answer = await dataSource
          .transaction(async (manager) => {
            const cancelled = await delays.cancel(name, key, { manager });
            await new Promise((resolve) => setTimeout(resolve, random.next() * 100));
            const placed = await delays.schedule(name, { n: 2 }, { after, key, manager });
            if (!isGood) throw new Error('the order cannot be placed');
            return `${cancelled.verdict}, ${placed.verdict}`;
          })
          .catch((error: unknown) => `rolled back: ${String(error)}`);
        return ['cancel and schedule', answer];
      }
    }
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

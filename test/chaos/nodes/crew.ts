import { join } from 'node:path';
import type { ChaosOptions } from '../options.js';
import type { Counts } from '../processes/process.protocol.js';
import { openProxy } from '../proxy/proxy.js';
import type { Role } from '../world.js';
import { Slot } from './slot.js';

/** Where the crew works, and who hears of it. */
export interface Place {
  /** Of the server itself; every process gets a proxy of its own. */
  serverUrl: string;
  /** Gets a log per producer. */
  folder: string;
  onOdd: (what: string) => void;
  onEnd: (nodeName: string, output: string) => void;
  onChange: () => void;
}

/** Payloads that kill their worker, two times each, once the calm is over. */
const POISON_PER_MINUTE = 0.75;

export const isClientLog = (file: string): boolean => file.endsWith('.jsonl');

/** All processes of a run. */
export class Crew {
  readonly slots: Slot[] = [];
  readonly #proxies: Awaited<ReturnType<typeof openProxy>>[] = [];
  #poisonPerMinute = 0;

  constructor(
    private readonly options: ChaosOptions,
    private readonly place: Place,
  ) {}

  /** Resolves when all are ready. */
  async start(): Promise<void> {
    for (const [role, count] of [
      ['worker', this.options.workers],
      ['producer', this.options.producers],
    ] as const) {
      for (let number = 1; number <= count; number++) await this.#open(role, `${role}-${number}`);
    }
    // Or the calm would begin with a backlog.
    await this.#startAll('worker');
    await this.#startAll('producer');
  }

  /** The calm is over. */
  roughen(): void {
    this.#poisonPerMinute = POISON_PER_MINUTE / this.options.producers;
    for (const slot of this.#of('producer')) {
      slot.order({ poisonPerMinute: this.#poisonPerMinute });
    }
  }

  /** Whatever a fault may have left behind: proxies pass, nobody stands still, all run. */
  async mend(): Promise<void> {
    for (const { proxy } of this.slots) proxy.heal();
    for (const slot of this.slots) slot.resume();
    await Promise.all(this.slots.filter(({ running }) => !running).map((slot) => slot.start()));
  }

  async stop(role: Role): Promise<void> {
    await Promise.all(this.#of(role).map((slot) => slot.stop()));
  }

  /** Nobody is left then, however the run ended. */
  async close(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.kill()));
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }

  counts(): Counts[] {
    return this.slots.flatMap((slot) => slot.counts());
  }

  async #startAll(role: Role): Promise<void> {
    await Promise.all(this.#of(role).map((slot) => slot.start()));
  }

  #of(role: Role): Slot[] {
    return this.slots.filter((slot) => slot.role === role);
  }

  async #open(role: Role, name: string): Promise<void> {
    const { seed, rate, producers, mutant, log } = this.options;
    const { serverUrl, folder, onOdd, onEnd, onChange } = this.place;
    const proxy = await openProxy(serverUrl);
    this.#proxies.push(proxy);
    const loadOf = (nodeName: string) => ({
      log: join(folder, `${nodeName}.jsonl`),
      ratePerSecond: rate / producers,
      poisonPerMinute: this.#poisonPerMinute,
    });
    this.slots.push(
      new Slot({
        slot: name,
        role,
        proxy,
        setupOf: (nodeName) => ({
          role,
          url: proxy.url,
          seed: `${seed}/${nodeName}`,
          load: role === 'producer' ? loadOf(nodeName) : null,
          mutant: mutant ?? null,
        }),
        onOdd,
        onEnd,
        onChange,
        log,
      }),
    );
  }
}

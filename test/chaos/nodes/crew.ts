import { join } from 'node:path';
import { NodeProcess } from '../../support/node-process.js';
import type { ChaosOptions } from '../run.js';
import type { ProcessMessage, ProcessSetup, Role } from '../processes/process.protocol.js';
import { openProxy, type PostgresProxy } from '../proxy/proxy.js';
import { Slot, type SlotParts } from './slot.js';

/** Where the crew works, and who hears of it. */
export interface Place extends Pick<SlotParts, 'onOdd' | 'onChange' | 'log'> {
  /** Of the server itself; every process gets a proxy of its own. */
  databaseUrl: string;
  /** Gets a log per producer. */
  folder: string;
}

/** All processes of a run. */
export class Crew {
  readonly slots: Slot[] = [];

  constructor(
    private readonly options: ChaosOptions,
    private readonly place: Place,
  ) {}

  /** Resolves when all are ready. */
  async start(): Promise<void> {
    const { workers, producers } = this.options;
    for (let number = 1; number <= workers; number++) await this.#open('worker', number);
    for (let number = 1; number <= producers; number++) await this.#open('producer', number);
    // Or the run would begin with a backlog.
    await Promise.all(this.#of('worker').map((slot) => slot.start()));
    await Promise.all(this.#of('producer').map((slot) => slot.start()));
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
    await Promise.all(this.slots.map(({ proxy }) => proxy.close()));
  }

  #of(role: Role): Slot[] {
    return this.slots.filter((slot) => slot.role === role);
  }

  async #open(role: Role, number: number): Promise<void> {
    const proxy = await openProxy(this.place.databaseUrl);
    const launch: SlotParts['launch'] = (nodeName, how) =>
      NodeProcess.start<ProcessMessage>('test/chaos/processes/main.ts', {
        env: {
          CHAOS_PROCESS: JSON.stringify({ ...this.#setupOf(role, nodeName, proxy), ...how }),
          SOURCE_PATCHES: JSON.stringify(this.options.patches ?? []),
        },
      });
    this.slots.push(new Slot({ ...this.place, slot: `${role}-${number}`, role, proxy, launch }));
  }

  #setupOf(role: Role, nodeName: string, { url }: PostgresProxy): ProcessSetup {
    const { seed, rate, producers } = this.options;
    const load = {
      log: join(this.place.folder, `${nodeName}.jsonl`),
      ratePerSecond: rate / producers,
    };
    const isProducer = role === 'producer';
    const seedOfNode = `${seed}/${nodeName}`;
    return { role, url, nodeName, seed: seedOfNode, load: isProducer ? load : null };
  }
}

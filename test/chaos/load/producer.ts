import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { randomOf } from '../../../src/random.js';
import type { LoadSetup, ProcessSetup } from '../processes/process.protocol.js';
import { ClientLog } from '../record/client-log.js';
import { Client } from './client.js';
import { Deeds } from './deeds.js';
import { Pace } from './pace.js';
import { Shopper } from './shopper.js';

/** Asks for delays at a steady rate, whether or not the answers come, until it is stopped. */
export class Producer {
  readonly #deeds: Deeds;
  readonly #log: ClientLog;
  readonly #pace: Pace;
  readonly #stopping = new AbortController();
  #poisonPerMinute: number;
  #working: Promise<void> = Promise.resolve();

  static start(app: INestApplicationContext, setup: ProcessSetup, load: LoadSetup): Producer {
    const producer = new Producer(app, setup, load);
    producer.#working = producer.#work();
    return producer;
  }

  private constructor(
    app: INestApplicationContext,
    { nodeName, seed }: ProcessSetup,
    private readonly load: LoadSetup,
  ) {
    // Every buyer who waits listens to it.
    setMaxListeners(0, this.#stopping.signal);
    this.#poisonPerMinute = load.poisonPerMinute;
    this.#log = new ClientLog(load.log, nodeName);
    this.#pace = new Pace(load.ratePerSecond, this.#stopping.signal);
    const wait = (ms: number): Promise<void> => this.#wait(ms);
    this.#deeds = new Deeds(
      randomOf(seed),
      nodeName,
      new Client(app.get(DelayService), app.get(DataSource), this.#log),
      new Shopper(app, this.#log, wait),
      wait,
    );
  }

  poison(perMinute: number): void {
    this.#poisonPerMinute = perMinute;
  }

  /** Resolves when every call has its answer. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
    this.#log.close();
  }

  async #work(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const { delays, run } = this.#deeds.next(
        this.#poisonPerMinute / 60 / this.load.ratePerSecond,
      );
      // A cancel takes its place as well.
      await this.#pace.next(Math.max(1, delays), run);
    }
    await this.#pace.rest();
  }

  async #wait(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}

import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { DelayAdmin, DelayService } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { randomOf } from '../../../src/random.js';
import type { LoadSetup, ProcessSetup } from '../processes/process.protocol.js';
import { ClientLog } from '../record/client-log.js';
import { Client } from './client.js';
import { Deeds } from './deeds.js';
import { Shopper } from './shopper.js';

/** So many calls wait for their answers at most; behind a dead connection all of them do. */
const UNANSWERED_MAX = 150;

/** Longer behind than this, a producer does not make up for it: it was stopped, or its machine was. */
const BEHIND_MAX_MS = 1_000;

/** Asks for delays at a steady rate, whether or not the answers come, until it is stopped. */
export class Producer {
  readonly #deeds: Deeds;
  readonly #log: ClientLog;
  readonly #under = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
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
    this.#log = new ClientLog(load.log, nodeName);
    const wait = (ms: number): Promise<void> => this.#wait(ms);
    this.#deeds = new Deeds(
      randomOf(seed),
      nodeName,
      new Client(app.get(DelayService), app.get(DataSource), this.#log, app.get(DelayAdmin)),
      new Shopper(app, this.#log, wait),
      wait,
    );
  }

  /** Resolves when every call has its answer. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
    this.#log.close();
  }

  async #work(): Promise<void> {
    const { ratePerSecond } = this.load;
    let nextAtMs = performance.now();
    while (!this.#stopping.signal.aborted) {
      const { delays, run } = this.#deeds.next();
      const running = run().finally(() => this.#under.delete(running));
      this.#under.add(running);
      const nowMs = performance.now();
      // A cancel takes its place as well.
      const tookMs = (Math.max(1, delays) * 1_000) / ratePerSecond;
      nextAtMs = Math.max(nextAtMs, nowMs - BEHIND_MAX_MS) + tookMs;
      await this.#wait(Math.max(0, nextAtMs - nowMs));
      while (this.#under.size >= UNANSWERED_MAX) await Promise.race(this.#under);
    }
    await Promise.all(this.#under);
  }

  async #wait(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import type { TestingModule } from '@nestjs/testing';
import { DelayService } from 'nestjs-delay-queue';
import { compile } from '../adapters/ours.js';
import { type Ahead, isCancelled, type Name, nameOf } from './delays.js';

/** Calls leave this often. */
const EVERY_MS = 50;

interface Target {
  name: Name;
  key: string;
}

/** A steady rate of delays far ahead, of which each third is cancelled when half of its time has passed. */
export class Traffic {
  scheduled = 0;
  cancelled = 0;
  #isStopped = false;
  #running: Promise<void> | undefined;
  /** What is cancelled at which tick. */
  readonly #cancels = new Map<number, Target[]>();

  private constructor(
    private readonly app: TestingModule,
    private readonly perSecond: number,
    private readonly ahead: Ahead,
  ) {}

  static async open(url: string, perSecond: number, ahead: Ahead): Promise<Traffic> {
    const app = await compile(url, { worker: false }, []);
    await app.init();
    return new Traffic(app, perSecond, ahead);
  }

  start(): void {
    this.#running = this.#run();
    // The one that stops it hears of it.
    this.#running.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    try {
      await this.#running;
    } finally {
      await this.app.close();
    }
  }

  /** On a timetable, so that a slow call is followed by two and the rate stays what it is. */
  async #run(): Promise<void> {
    const delays = this.app.get(DelayService);
    const startedAtMs = performance.now();
    for (let tick = 1; !this.#isStopped; tick += 1) {
      await delays.scheduleMany(this.#next(tick));
      await this.#cancel(delays, tick);
      await pause(Math.max(0, startedAtMs + tick * EVERY_MS - performance.now()));
    }
  }

  #next(tick: number) {
    const count = Math.floor((this.perSecond * tick * EVERY_MS) / 1_000) - this.scheduled;
    const { fromS, toS } = this.ahead;
    const items = Array.from({ length: count }, (_, index) => {
      const n = this.scheduled + index;
      const afterMs = Math.round((fromS + (toS - fromS) * Math.random()) * 1_000);
      const target = { name: nameOf(n), key: String(n) };
      if (isCancelled(n)) this.#cancelAt(tick + Math.ceil(afterMs / 2 / EVERY_MS), target);
      return { ...target, payload: { n }, after: afterMs };
    });
    this.scheduled += count;
    return items;
  }

  #cancelAt(tick: number, target: Target): void {
    const targets = this.#cancels.get(tick) ?? [];
    targets.push(target);
    this.#cancels.set(tick, targets);
  }

  async #cancel(delays: DelayService, tick: number): Promise<void> {
    const targets = this.#cancels.get(tick);
    if (targets === undefined) return;
    this.#cancels.delete(tick);
    const results = await delays.cancelMany(targets);
    this.cancelled += results.filter(({ verdict }) => verdict === 'cancelled').length;
  }
}

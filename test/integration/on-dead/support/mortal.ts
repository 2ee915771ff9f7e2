import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { type DeadDelayContext, type Delay, OnDeadDelay } from 'nestjs-delay-queue';
import {
  batchHandler,
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  type NodeSetup,
  plainHandler,
} from '../../../support/delay-node.js';
import { type Kind, NAMES } from '../../../support/acting-node.js';
import { OneNode } from '../../../support/one-node.js';

export const KEY = 'k';
/** Transactional, and over after two seconds. */
export const SHORT = 'test.short';

type TestName = `test.${string}`;
export type GaveUp = (delay: Delay, ctx: DeadDelayContext) => Promise<unknown>;

/** Provides the method for what its handler gives up. */
export function gaveUpBy(name: TestName, run: GaveUp): Type {
  class GivesUp {
    @OnDeadDelay(name)
    async gaveUp(delay: Delay, ctx: DeadDelayContext): Promise<void> {
      await run(delay, ctx);
    }
  }
  return GivesUp;
}

/** What such a method does, unless a test says otherwise: its effect. */
export const note: GaveUp = ({ key }, { manager, error }) =>
  manager.query('INSERT INTO effect VALUES ($1, $2)', [key, error]);

/** One node with a handler of each kind, which fails, and a method for what each gives up. */
export class Mortal extends OneNode {
  handle: (delay: Delay) => Promise<void> | void = () => {};
  gaveUp: GaveUp = note;
  /** Handlers that were called, and methods. */
  attempts = 0;
  calls = 0;
  readonly #unhandled: unknown[] = [];
  readonly #onUnhandled = (error: unknown): void => void this.#unhandled.push(error);

  constructor(setup: Omit<NodeSetup, 'url' | 'providers'> = {}) {
    const one = (delay: Delay): Promise<void> | void => {
      this.attempts += 1;
      return this.handle(delay);
    };
    const many = async (delays: Delay[], ctx: { fail: (of: never, error: unknown) => void }) => {
      for (const delay of delays) {
        await Promise.resolve(one(delay)).catch((error: unknown) =>
          ctx.fail(delay as never, error),
        );
      }
    };
    const gaveUp: GaveUp = (delay, ctx) => {
      this.calls += 1;
      return this.gaveUp(delay, ctx);
    };
    super({
      ...setup,
      providers: [
        plainHandler(NAMES.plain, one, { concurrency: 50 }),
        fencedHandler(NAMES.transactional, one),
        batchHandler(NAMES['plain batch'], many, { batch: 5 }),
        fencedBatchHandler(NAMES['transactional batch'], many, { batch: 5 }),
        fencedHandler(SHORT, one, { timeout: 2_000 }),
        ...[...Object.values(NAMES), SHORT].map((name) => gaveUpBy(name as TestName, gaveUp)),
      ],
    });

    beforeAll(async () => {
      process.on('unhandledRejection', this.#onUnhandled);
      await this.sql('CREATE TABLE effect (key text, error text)');
    });

    afterEach(async () => {
      await this.sql('TRUNCATE effect');
      this.handle = () => Promise.reject(new Error('no'));
      this.gaveUp = note;
      [this.attempts, this.calls] = [0, 0];
      const [error] = this.#unhandled.splice(0);
      if (error !== undefined) throw error;
    });

    afterAll(() => void process.off('unhandledRejection', this.#onUnhandled));
    this.handle = () => Promise.reject(new Error('no'));
  }

  effects(): Promise<{ key: string; error: string }[]> {
    return this.sql('SELECT key, error FROM effect ORDER BY key');
  }

  /** Schedules it for now; resolves when it is a dead letter. */
  async dies(
    name: TestName,
    { key = KEY, maxAttempts = 1 } = {},
  ): Promise<Awaited<ReturnType<DelayNode['next']>> & { error: string }> {
    const dead = this.next('dead', ({ key: of }) => of === key);
    await this.delays.schedule(name, { n: 1 }, { after: 0, key, maxAttempts });
    return dead;
  }

  /** What waits under that key. */
  find(kind: Kind) {
    return this.delays.find(NAMES[kind], KEY);
  }
}

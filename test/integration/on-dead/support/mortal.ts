import { afterEach, beforeEach } from '@jest/globals';
import type { Type } from '@nestjs/common';
import {
  type DeadDelayContext,
  type Delay,
  OnDeadDelay,
  type OnDelayOptions,
} from 'nestjs-delay-queue';
import { type DelayNode, plainHandler } from '../../../support/delay-node.js';
import { Stage } from '../../engine/support/stage.js';

export const NAME = 'test.mortal';
export const KEY = 'k';

export type GaveUp = (delay: Delay<typeof NAME>, ctx: DeadDelayContext) => Promise<unknown>;

/** A database for each test, with a table of what methods with `@OnDeadDelay` did. */
export class Mortal {
  stage!: Stage;
  readonly #unhandled: unknown[] = [];
  readonly #onUnhandled = (error: unknown): void => void this.#unhandled.push(error);

  constructor() {
    beforeEach(async () => {
      process.on('unhandledRejection', this.#onUnhandled);
      this.stage = await Stage.open();
      await this.stage.sql('CREATE TABLE effect (key text, error text)');
    });

    afterEach(async () => {
      await this.stage.close();
      process.off('unhandledRejection', this.#onUnhandled);
      const [error] = this.#unhandled.splice(0);
      if (error !== undefined) throw error;
    });
  }

  effects(): Promise<{ key: string; error: string }[]> {
    return this.stage.sql('SELECT key, error FROM effect ORDER BY key');
  }

  /** A node with that handler, and that method for what it gives up. */
  start(gaveUp: GaveUp, handler: Type, poolMax = 20): Promise<DelayNode> {
    return this.stage.start({ poolMax, providers: [handler, gaveUpBy(gaveUp)] });
  }

  /** Resolves when so many are dead letters. */
  dead(count: number): Promise<unknown> {
    return this.stage.until(
      `SELECT 1 FROM delay_queue.delay WHERE wake_at = 'infinity'`,
      ({ length }) => length === count,
    );
  }
}

function gaveUpBy(run: GaveUp): Type {
  class GivesUp {
    @OnDeadDelay(NAME)
    async gaveUp(delay: Delay<typeof NAME>, ctx: DeadDelayContext): Promise<void> {
      await run(delay, ctx);
    }
  }
  return GivesUp;
}

export const note: GaveUp = ({ key }, { manager, error }) =>
  manager.query('INSERT INTO effect VALUES ($1, $2)', [key, error]);

export const fails = (options: OnDelayOptions = {}): Type =>
  plainHandler(NAME, () => Promise.reject(new Error('no')), { maxAttempts: 1, ...options });

export const schedule = (node: DelayNode, key = KEY) =>
  node.delays.schedule(NAME, { n: 1 }, { after: 0, key });

import { afterEach, beforeAll } from '@jest/globals';
import type { DelayQueueOptions } from 'nestjs-delay-queue';
import type { NodeSetup } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { until } from '../support/until.js';

const ENDS = ['completed', 'dead', 'lost', 'postponed'] as const;

export interface End {
  event: (typeof ENDS)[number];
  name: string;
  key: string | null;
  attempt: number;
  error?: string;
}

/** For handlers that do odd things: one attempt at a time, a second one soon, and nothing ended by a timeout. */
export const ODD_OPTIONS = {
  concurrency: 1,
  timeout: '60s',
  maxAttempts: 2,
  backoff: () => 1,
} as const;

const OPTIONS: DelayQueueOptions = { lease: '5s', drainTimeout: '5s' };

/** One node for all odd things of a file. Jest fails a test whose handler lets something escape that nobody catches. */
export class OddNode extends OneNode {
  #ends: End[] = [];

  constructor(setup: Omit<NodeSetup, 'url'>) {
    // Few connections, so that each is used again soon after something odd.
    super({ ...setup, options: OPTIONS, poolMax: 5 });
    beforeAll(() => {
      for (const event of ENDS) this.events.on(event, (end) => this.#ends.push({ ...end, event }));
    });
    afterEach(() => {
      this.#ends = [];
    });
  }

  async endOf(key: string): Promise<End> {
    const ends = await until(
      () => this.#ends.filter((end) => end.key === key),
      ({ length }) => length > 0,
    );
    return ends[0]!;
  }

  /** Its only place is free, on whatever connection the odd one has left behind; nobody holds a transaction. */
  async isHealthy(name: `test.${string}`): Promise<void> {
    await this.#noTransactionLeft();
    await this.delays.schedule(name, null, { after: 0, key: 'healthy' });
    const { event, attempt } = await this.endOf('healthy');
    if (event !== 'completed' || attempt !== 1) throw new Error(`${event} by attempt ${attempt}`);
    await this.#noTransactionLeft();
  }

  #noTransactionLeft(): Promise<unknown> {
    return this.until(
      `SELECT application_name, state, query FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`,
      ({ length }) => length === 0,
    );
  }
}

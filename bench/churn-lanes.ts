import { Client } from 'pg';
import { DelayStore } from '../src/delay-queue/store/delay.store.js';
import type { NewDelay } from '../src/delay-queue/store/rows/delay-rows.js';
import type { Runner } from '../src/delay-queue/database/runner.js';
import { AttemptStore } from '../src/delay-queue/store/attempt.store.js';

/** Connections that work at the same time. */
export const LANES = 4;

/** Delays per statement. */
export const BATCH = 100;

const SCHEMA = 'delay_queue';
const LEASE_MS = 30_000;
const MAX_ATTEMPTS = 10;

interface Waiting {
  id: number;
  epoch: number;
}

interface Lane {
  client: Client;
  runner: Runner;
  work: AttemptStore;
}

/** Connections that schedule at one end and claim and complete at the other, in due order. */
export class ChurnLanes {
  readonly #delays = new DelayStore(SCHEMA, 'nothing', 'bench');
  #waiting: Waiting[] = [];
  #lanes: Lane[] = [];
  #scheduled = 0;

  async open(url: string): Promise<void> {
    this.#lanes = await Promise.all(Array.from({ length: LANES }, () => openLane(url)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map(({ client }) => client.end()));
    this.#lanes = [];
  }

  /** Schedules `count` delays that wait. */
  async schedule(count: number): Promise<void> {
    const until = this.#scheduled + count;
    await this.#all(async (lane) => {
      while (this.#scheduled < until) await this.#scheduleBatch(lane);
    });
  }

  /**
   * Sends `count` delays through the table: for each new one the oldest goes.
   * @param onProgress told how many are through
   * @returns how many a claim or a completion did not get, which should be none
   */
  async turnOver(
    count: number,
    onProgress: (through: number) => void = () => {},
  ): Promise<{ missed: number }> {
    let [begun, through, missed] = [0, 0, 0];
    await this.#all(async (lane) => {
      while (begun < count) {
        begun += BATCH;
        await this.#scheduleBatch(lane);
        missed += BATCH - (await this.#runBatch(lane));
        through += BATCH;
        onProgress(through);
      }
    });
    return { missed };
  }

  async #all(work: (lane: Lane) => Promise<void>): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => work(lane)));
  }

  async #scheduleBatch(lane: Lane): Promise<void> {
    const first = this.#scheduled;
    this.#scheduled += BATCH;
    const placements = Array.from({ length: BATCH }, (_, index) => placement(first + index));
    for (const { id, epoch } of await this.#delays.place(lane.runner, placements)) {
      if (epoch !== null) this.#waiting.push({ id, epoch });
    }
  }

  /** @returns how many were completed */
  async #runBatch({ work }: Lane): Promise<number> {
    const oldest = this.#waiting.splice(0, BATCH);
    const claimed = await work.claim(
      oldest.map((item) => ({ ...item, leaseMs: LEASE_MS, maxAttempts: MAX_ATTEMPTS })),
    );
    const done = await work.complete(
      claimed.map(({ id, epoch }) => ({ id, epoch, latenessMs: 0 })),
    );
    return done.length;
  }
}

async function openLane(url: string): Promise<Lane> {
  const client = new Client({ connectionString: url, application_name: 'bench lane' });
  client.on('error', () => {});
  await client.connect();
  const runner: Runner = {
    query: async <Row>(sql: string, parameters: unknown[]) =>
      (await client.query<Row & object>(sql, parameters)).rows,
  };
  return { client, runner, work: new AttemptStore(runner, SCHEMA, 'nothing', 'bench') };
}

/** Padded, because `place` wants its keys in order. */
function placement(n: number): NewDelay {
  const orderId = String(n).padStart(12, '0');
  return {
    name: 'bench.run',
    key: orderId,
    payload: JSON.stringify({ orderId }),
    to: { kind: 'after', ms: 0 },
    maxAttempts: null,
    group: null,
    headers: null,
    onConflict: 'replace',
  };
}

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayError, type DelayName, type DelayService, type OnConflict } from 'nestjs-delay-queue';
import type { QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, signal, startNode } from '../support/delay-node.js';
import { type CallersWrite, type RowState, VERDICTS } from '../support/state-machine.js';

const BY_ITS_HANDLER = 'running, by its handler';

/** What every row of the table needs: one row of `delay`, or none. */
const ROWS: Record<Exclude<RowState, typeof BY_ITS_HANDLER>, string | null> = {
  none: null,
  scheduled: `0, NULL, NULL, clock_timestamp() + interval '1 hour'`,
  retrying: `1, NULL, NULL, clock_timestamp() + interval '1 hour'`,
  running: `1, clock_timestamp() + interval '1 hour', 'another', clock_timestamp()`,
  'lease over': `1, clock_timestamp() - interval '1 hour', 'another', clock_timestamp()`,
  'lease over, fence held': `1, clock_timestamp() - interval '1 hour', 'another', clock_timestamp()`,
  dead: `3, NULL, NULL, 'infinity'`,
};

type Write = (delays: DelayService, name: DelayName, key: string) => Promise<{ verdict: string }>;

const schedule =
  (onConflict: OnConflict): Write =>
  (delays, name, key) =>
    delays.schedule(name, null, { after: '1h', key, onConflict });

const WRITES: Record<CallersWrite, Write> = {
  replace: schedule('replace'),
  keep: schedule('keep'),
  error: schedule('error'),
  cancel: (delays, name, key) => delays.cancel(name, key),
  reschedule: (delays, name, key) => delays.reschedule(name, key, { after: '1h' }),
  retryDead: (delays, name, key) => delays.retryDead(name, key),
};

const CASES = (Object.keys(VERDICTS) as RowState[]).flatMap((state) =>
  (Object.keys(WRITES) as CallersWrite[]).map((write) => ({
    state,
    write,
    expected: VERDICTS[state][write],
  })),
);

/** The verdict, or the code of what was thrown. */
async function answerOf(call: Promise<{ verdict: string }>): Promise<string> {
  try {
    return (await call).verdict;
  } catch (error) {
    if (error instanceof DelayError) return error.code;
    throw error;
  }
}

describe('the table of verdicts in docs/state-machine.md', () => {
  let database: TestDatabase;
  let node: DelayNode;
  let written = signal<string>();

  beforeAll(async () => {
    database = await createTestDatabase();
    const own = plainHandler('test.own', async ({ name, key, payload }) => {
      const write = WRITES[payload as CallersWrite];
      if (key) written.resolve(await answerOf(write(node.delays, name, key)));
    });
    node = await startNode({ url: database.url, providers: [own] });
  });

  afterAll(async () => {
    await node?.stop();
    await database?.drop();
  });

  /** Holds the row as a paused transactional attempt does. */
  async function fence(key: string): Promise<QueryRunner> {
    const runner = node.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`SELECT FROM delay_queue.delay WHERE key = $1 FOR UPDATE`, [key]);
    return runner;
  }

  async function answerFromOutside(
    state: keyof typeof ROWS,
    write: Write,
    key: string,
  ): Promise<string> {
    const row = ROWS[state];
    if (row !== null) {
      await node.dataSource.query(
        `INSERT INTO delay_queue.delay
           (name, key, payload, due_at, created_at, attempts, leased_until, leased_by, wake_at)
         SELECT 'test.pair', $1, 'null', clock_timestamp(), clock_timestamp(), ${row}`,
        [key],
      );
    }
    const held = state.endsWith('fence held') ? await fence(key) : undefined;
    try {
      return await answerOf(write(node.delays, 'test.pair', key));
    } finally {
      await held?.rollbackTransaction();
      await held?.release();
    }
  }

  async function answerFromHandler(write: string, key: string): Promise<string> {
    written = signal<string>();
    const over = new Promise<void>((resolve) => {
      for (const event of ['completed', 'superseded'] as const) {
        node.events.on(event, (attempt) => {
          if (attempt.key === key) resolve();
        });
      }
    });
    await node.delays.schedule('test.own', write, { after: 0, key });
    const answer = await written.promise;
    await over;
    return answer;
  }

  it.each(CASES)('$state, $write: $expected', async ({ state, write, expected }) => {
    const key = `${state} ${write}`;
    const answer =
      state === BY_ITS_HANDLER
        ? await answerFromHandler(write, key)
        : await answerFromOutside(state, WRITES[write], key);
    expect(answer).toBe(expected);
  });
});

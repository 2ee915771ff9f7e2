import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DelayBatchContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { until } from '../../support/until.js';
import { KINDS } from './support/batch-stage.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const KEYS = Array.from({ length: 8 }, (_, n) => `k${n}`);
const ROUNDS = 3;

it.each(['plain', 'transactional'] as const)(
  'a %s batch moves its own keys on, all of them in one call of scheduleMany',
  async (kind) => {
    const rounds = new Map<string, number>();
    const handler = KINDS[kind](
      'test.batch',
      async (delays, ctx: DelayBatchContext & { manager?: EntityManager }) => {
        const again: string[] = [];
        for (const { key } of delays) {
          const round = (rounds.get(key!) ?? 0) + 1;
          rounds.set(key!, round);
          if (round < ROUNDS) again.push(key!);
        }
        const items = again.map(
          (key) => ({ name: 'test.batch', payload: null, key, after: 5 }) as const,
        );
        const results = await node.delays.scheduleMany(items, { manager: ctx.manager });
        expect(results.every(({ verdict }) => verdict === 'scheduled')).toBe(true);
      },
      { batch: 10 },
    );
    const node = await stage.start({ providers: [handler] });
    const made = await node.delays.scheduleMany(
      KEYS.map((key) => ({ name: 'test.batch', payload: null, key, after: 0 })),
    );
    await until(
      () => [...rounds.values()],
      (done) => done.length === KEYS.length && done.every((round) => round === ROUNDS),
    );
    await stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 0);
    // It was the same row all the time.
    const ends = await stage.sql(`SELECT DISTINCT id FROM delay_queue.history ORDER BY id`);
    expect(ends.map(({ id }) => String(id))).toEqual(made.map(({ id }) => id));
  },
);

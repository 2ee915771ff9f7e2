import { expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import type { Delay } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { randomOf } from '../../../src/random.js';
import { fencedBatchHandler, fencedHandler } from '../../support/delay-node.js';
import { ABORT, TwoNodes } from './support/two-nodes.js';

const KEYS = 300;
/** As long as a handler takes, or a key is waited for before it is aborted. */
const TAKES_MS = 60;

const two = new TwoNodes();

it.each(['test.alone', 'test.batch'] as const)(
  'whatever comes first, an abort or COMMIT (%s): cancelled means no effect, absent means one',
  async (name) => {
    const random = randomOf(`abort ${name}`);
    const work = async (delays: Delay[], manager: EntityManager): Promise<void> => {
      await pause(random.integer(0, TAKES_MS));
      const keys = delays.map(({ key }) => key);
      await manager.query('INSERT INTO effect SELECT unnest($1::text[])', [keys]);
      await pause(random.integer(0, TAKES_MS / 4));
    };
    const providers = () => [
      fencedHandler('test.alone', (delay, { manager }) => work([delay], manager)),
      fencedBatchHandler('test.batch', (delays, { manager }) => work(delays, manager), {
        batch: 5,
      }),
    ];
    await two.start(providers());
    await two.another(providers(), { nodeName: 'runs too' });
    const keys = Array.from({ length: KEYS }, (_, n) => `k${n}`);
    await two.asks.delays.scheduleMany(
      keys.map((key) => ({ name, payload: null, key, after: random.integer(0, 1_000) })),
    );
    const told = await Promise.all(
      keys.map(async (key) => {
        await pause(random.integer(0, 1_000 + TAKES_MS));
        const by = random.chance(0.5) ? two.asks : two.runs;
        const { verdict } = await by.delays.cancel(name, key, ABORT);
        return [key, verdict] as const;
      }),
    );
    const effects = await two.effects();
    const wrong = told.filter(([key, verdict]) => {
      const times = effects.filter((each) => each === key).length;
      return times !== (verdict === 'absent' ? 1 : 0);
    });
    expect(wrong).toEqual([]);
    // Else the test has seen nothing: some were ended while they ran.
    expect(two.told.filter(([event]) => event === 'aborted')).not.toEqual([]);
    expect(new Set(told.map(([, verdict]) => verdict))).toEqual(new Set(['absent', 'cancelled']));
    expect(await two.sql('SELECT id FROM delay_queue.delay')).toEqual([]);
  },
);

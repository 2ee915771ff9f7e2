import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  signal,
  type Signal,
} from '../../support/delay-node.js';
import { makeSweepsRare } from '../../support/rare-sweeps.js';
import { until } from '../../support/until.js';
import { INSERT_OVERDUE } from './support/overdue.js';
import { Stage } from './support/stage.js';

makeSweepsRare();

/** From so many on a name rests; in flight at that moment may be as many more as its slots. */
const LINGERING_MAX = 1_000;
const CONCURRENCY = 100;
const DELAYS = 1_500;

/** Each attempt that is cut costs a connection, and a machine may have much else to do. */
const RESTS_WITHIN_MS = 100_000;
const TEST_WITHIN_MS = 150_000;

let stage: Stage;
let end: Signal<void>;
let calls: number;

beforeEach(async () => {
  stage = await Stage.open();
  end = signal();
  calls = 0;
});

afterEach(async () => {
  end.resolve();
  await stage.close();
});

const hang = (): Promise<void> => {
  calls += 1;
  return end.promise;
};

const ALIKE = { concurrency: CONCURRENCY, maxAttempts: 1 };

const KINDS = {
  plain: plainHandler('test.stuck', hang, { ...ALIKE, timeout: 20 }),
  // Time enough to get a connection.
  transactional: fencedHandler('test.stuck', hang, { ...ALIKE, timeout: 50 }),
};

/** A node on which so many handlers hang that their name rests. */
async function resting(kind: keyof typeof KINDS): Promise<{ node: DelayNode; advice: string[] }> {
  await stage.sql(INSERT_OVERDUE, [DELAYS, 'test.stuck']);
  const advice: string[] = [];
  const node = await stage.start({
    providers: [KINDS[kind], plainHandler('test.other', () => {})],
    poolMax: 50,
    options: { horizon: '1h', loadEvery: '59m' },
  });
  node.events.on('advice', ({ message }) => void advice.push(message));
  await until(
    () => advice.filter((message) => message.startsWith('test.stuck rests')).length,
    (count) => count > 0,
    { withinMs: RESTS_WITHIN_MS },
  );
  return { node, advice: advice.filter((message) => message.startsWith('test.stuck rests')) };
}

describe.each(['plain', 'transactional'] as const)(
  'a name of which a thousand %s handlers outlived their timeout',
  (kind) => {
    it(
      'rests, says so once, holds up no other, and goes on by itself when they end',
      async () => {
        const { node, advice } = await resting(kind);
        const completed = node.next('completed');
        await node.delays.schedule('test.other', null, { after: 0 });
        expect(await completed).toMatchObject({ name: 'test.other' });
        // What was in flight when the rest began has ended, and nothing has begun since.
        await stage.until<{ n: number }>(
          'SELECT count(*)::int AS n FROM delay_queue.delay WHERE leased_by IS NOT NULL',
          ([row]) => row?.n === 0,
        );
        expect(calls).toBeGreaterThanOrEqual(LINGERING_MAX);
        expect(calls).toBeLessThan(LINGERING_MAX + CONCURRENCY);
        end.resolve();
        await stage.until<{ n: number }>(
          `SELECT count(*)::int AS n FROM delay_queue.delay WHERE wake_at < 'infinity'`,
          ([row]) => row?.n === 0,
        );
        expect(advice).toHaveLength(1);
        expect(advice[0]).toMatch(
          /^test\.stuck rests on this node: 1000 of its handlers .*ctx\.signal/,
        );
      },
      TEST_WITHIN_MS,
    );

    it(
      'holds up no shutdown',
      async () => {
        const { node } = await resting(kind);
        await node.stop();
        expect(calls).toBeLessThan(DELAYS);
      },
      TEST_WITHIN_MS,
    );
  },
);

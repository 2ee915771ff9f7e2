import { expect, it } from '@jest/globals';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';

/** From so many on a name rests; in flight at that moment may be as many more as its slots. */
const OVERRUNNING_MAX = 1_000;
const CONCURRENCY = 100;
const DELAYS = 1_500;
const ENDED = 200;

const ends: (() => void)[] = [];
let calls = 0;

const stage = stageOfEach({ rareSweeps: true, release: () => ends.forEach((end) => end()) });

const hang = (): Promise<void> => {
  calls += 1;
  return new Promise((resolve) => ends.push(resolve));
};

/** What was in flight when a rest began has ended. */
const untilItRests = (called: number): Promise<unknown> =>
  stage.until<{ leased: number }>(
    'SELECT count(leased_by)::int AS leased FROM delay_queue.delay',
    ([row]) => calls >= called && row?.leased === 0,
  );

it('a name of which a thousand handlers outlived their timeout rests, says so once, holds up no other and no shutdown, and goes on as they end', async () => {
  await stage.overdue('test.stuck', DELAYS);
  const node = await stage.start({
    providers: [
      plainHandler('test.stuck', hang, { concurrency: CONCURRENCY, maxAttempts: 1, timeout: 20 }),
      plainHandler('test.other', () => {}),
    ],
    options: { horizon: '1h', loadEvery: '59m' },
  });
  const advice: string[] = [];
  node.events.on('advice', ({ message }) => void advice.push(message));
  const rests = (): string[] =>
    advice.filter((message) => message.startsWith('test.stuck cools down'));

  await until(rests, ({ length }) => length > 0);
  const completed = node.next('completed');
  await node.delays.schedule('test.other', null, { after: 0 });
  expect(await completed).toMatchObject({ name: 'test.other' });
  await untilItRests(OVERRUNNING_MAX);
  expect(calls).toBeLessThan(OVERRUNNING_MAX + CONCURRENCY);

  for (const end of ends.splice(0, ENDED)) end();
  await untilItRests(OVERRUNNING_MAX + ENDED);
  await node.stop();
  expect(calls).toBeLessThan(OVERRUNNING_MAX + ENDED + CONCURRENCY);
  // It had not been well in between.
  expect(rests()).toEqual([
    expect.stringMatching(
      /^test\.stuck cools down on this node: 1000 of its handlers .*ctx\.signal/,
    ),
  ]);
});

it('a transactional handler that outlives its abort takes no deadline from the next', async () => {
  const begun: string[] = [];
  const first = signal();
  const node = await stage.start({
    providers: [
      fencedHandler(
        'test.fenced',
        async ({ key }) => {
          begun.push(key ?? '');
          await (key === 'first' ? first.promise : hang());
        },
        { concurrency: 1, timeout: 2_000 },
      ),
    ],
  });
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'first' });
  await until(
    () => begun.length,
    (count) => count === 1,
  );
  const retrying = node.next('retrying', ({ key }) => key === 'second');
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'second' });
  const { verdict } = await node.delays.cancel('test.fenced', 'first', { running: 'abort' });
  expect(verdict).toBe('cancelled');
  expect(await retrying).toMatchObject({ key: 'second' });
  first.resolve();
});

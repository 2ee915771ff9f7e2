import { expect, it } from '@jest/globals';
import { DelayTimeoutError, DelayWheelFullError } from 'nestjs-delay-queue';
import { plainHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';

/** What may wait by default. */
const TIMERS = 1_000_000;

const stage = stageOfEach({ rareSweeps: true });

it('as many volatile timers as may wait take nothing from durable delays and the timeouts of handlers', async () => {
  const ran = new Set<string>();
  const node = await stage.start({
    providers: [
      plainHandler('test.soon', ({ key }) => void ran.add(key ?? '')),
      plainHandler('test.stuck', () => new Promise(() => {}), { timeout: 50, maxAttempts: 1 }),
    ],
    // Loads and sweeps come to nobody's rescue within this test.
    options: { horizon: '1h', loadEvery: '59m' },
  });
  for (let n = 0; n < TIMERS; n += 1) node.wheel.after('1h', () => {});
  expect(() => node.wheel.after('1h', () => {})).toThrow(DelayWheelFullError);

  const dead = node.next('dead');
  await node.delays.schedule('test.soon', null, { after: 100, key: 'soon' });
  await node.delays.schedule('test.soon', null, { after: 0, key: 'now' });
  await node.delays.schedule('test.stuck', null, { after: 0 });
  expect(await dead).toMatchObject({ error: expect.stringContaining(DelayTimeoutError.name) });
  await until(
    () => ran.size,
    (size) => size === 2,
  );
  expect(ran).toEqual(new Set(['now', 'soon']));
});

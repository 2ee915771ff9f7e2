import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { Stage } from '../engine/support/stage.js';
import { startTested, told } from './support/tested.js';

const NAME = 'test.daily';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const start = (repeat: Repeats) =>
  startTested(stage, {
    providers: [
      repeated(
        plainHandler(NAME, () => {}),
        NAME,
        repeat,
      ),
    ],
  });

it.each<[string, Repeats]>([
  ['every', { every: '24h', catchUp: 'each' }],
  ['cron', { cron: '0 3 * * *', timeZone: 'Asia/Tokyo', catchUp: 'each' }],
  ['cron, one run for all that was missed', { cron: '0 3 * * *', timeZone: 'Asia/Tokyo' }],
])('what recurs by %s keeps its times while time passes', async (_, repeat) => {
  const { testing, delays } = await start(repeat);
  const first = (await delays.find(NAME, 'repeat'))!.dueAt.getTime();
  const ran = await testing.advance('96h');
  expect(told(ran)).toEqual(Array.from({ length: 4 }, () => `${NAME} repeat: completed`));
  const after = await delays.find(NAME, 'repeat');
  // It is so much nearer, to the millisecond or two that each step rounds up.
  const waitsMs = after!.dueAt.getTime() - first;
  expect(Math.abs(waitsMs)).toBeLessThan(10);
  // Of what was found out on the way nothing is told.
  expect(after?.repeat).toEqual({ timeZone: undefined, catchUp: 'latest', ...expectedOf(repeat) });
});

const expectedOf = ({ every, ...repeat }: Repeats): object =>
  every === undefined ? repeat : { every: 86_400_000, catchUp: 'each' };

it('what the code declares begins anew with clear, whatever has become of it', async () => {
  const { testing, delays, admin } = await start({ every: '24h' });
  const first = (await delays.find(NAME, 'repeat'))!;
  await testing.advance('5h');
  await delays.reschedule(NAME, 'repeat', { after: '3s' });
  await delays.schedule(NAME, null, { repeat: { every: '1h' }, key: 'mine' });
  await testing.clear();
  const found = await admin.list({});
  expect(found).toMatchObject([{ name: NAME, key: 'repeat', state: 'scheduled', attempts: 0 }]);
  expect(found[0]!.dueAt.getTime()).toBeGreaterThanOrEqual(first.dueAt.getTime());
  await testing.clear();
  await testing.expectScheduled(NAME, 'repeat', { dueIn: '24h' });
  expect(told(await testing.advance('25h'))).toEqual([`${NAME} repeat: completed`]);
});

it('what was removed stands again after clear', async () => {
  const { testing, admin } = await start({ every: '24h' });
  await admin.cancel({ repeating: true });
  expect(await testing.advance('25h')).toEqual([]);
  await testing.clear();
  expect(told(await testing.advance('25h'))).toEqual([`${NAME} repeat: completed`]);
});

it("after clear a wall clock's instants are those of the test's clock", async () => {
  const { testing, delays } = await start({ cron: '0 3 * * *', timeZone: 'Asia/Tokyo' });
  await testing.advance('7h');
  await testing.clear();
  const { dueAt } = (await delays.find(NAME, 'repeat'))!;
  const aheadMs = testing.now().getTime() - Date.now();
  // To the second: what was let pass is known to the millisecond.
  const there = new Date(Math.round((dueAt.getTime() + aheadMs) / 1_000) * 1_000);
  expect(there.toISOString()).toMatch(/T18:00:00/);
  expect(told(await testing.advance('24h'))).toEqual([`${NAME} repeat: completed`]);
});

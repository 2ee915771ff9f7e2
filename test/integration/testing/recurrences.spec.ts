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

it('what the code declares is gone after clear, until an application starts', async () => {
  const before = await start({ every: '24h' });
  await before.testing.clear();
  expect(await before.testing.advance('96h')).toEqual([]);
  await before.stop();
  const { testing } = await start({ every: '24h' });
  expect(told(await testing.advance('25h'))).toEqual([`${NAME} repeat: completed`]);
});

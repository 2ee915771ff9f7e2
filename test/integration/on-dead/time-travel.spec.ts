import { expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { OtherNode } from '../../support/other-node.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { startTested, told } from '../testing/support/tested.js';
import { gaveUpBy, KEY } from './support/mortal.js';

const NAME = 'test.mortal';

const stage = stageOfEach();

it.each<[string, error: string, before: (other: OtherNode, id: string) => Promise<unknown>]>([
  ['when time travel says so', 'Error: no', () => Promise.resolve()],
  [
    'whose process died at the last attempt',
    'attempts exhausted',
    (other, id) => other.claimAndDie(id),
  ],
  [
    'whose process died while the method ran',
    'attempts exhausted',
    async (other, id) => {
      const { epoch } = await other.claimAndDie(id);
      const request = { id: Number(id), epoch, leaseMs: 0, maxAttempts: 1 };
      expect(await other.store.claimExhausted(request, true)).toMatchObject({ attempts: 1 });
    },
  ],
])('in a test, a delay has died %s', async (_, error, before) => {
  const errors: string[] = [];
  const { testing, delays, dataSource } = await startTested(stage, {
    providers: [
      plainHandler(NAME, () => Promise.reject(new Error('no')), { maxAttempts: 1 }),
      gaveUpBy(NAME, async (_delay, ctx) => errors.push(ctx.error)),
    ],
  });
  const { id } = await delays.schedule(NAME, null, { after: 0, key: KEY });
  await before(new OtherNode(dataSource), id);
  expect(told(await testing.drain())).toEqual([`${NAME} ${KEY}: dead`]);
  expect(errors).toEqual([expect.stringContaining(error)]);
  expect(await delays.find(NAME, KEY)).toMatchObject({ state: 'dead', attempts: 1 });
});

import { expect, it } from '@jest/globals';
import { type Delay, type DeadDelayContext, OnDeadDelay } from 'nestjs-delay-queue';
import { plainHandler } from '../../support/delay-node.js';
import { KEY, Mortal, NAME, note, schedule } from './support/mortal.js';

const mortal = new Mortal();

it('a payload that does not fit its schema any more dies, and the method gets it as it was given', async () => {
  const producer = await mortal.stage.start({ options: { worker: false } });
  await schedule(producer);
  const seen: unknown[] = [];
  class GivesUp {
    @OnDeadDelay(NAME)
    async gaveUp(delay: Delay<typeof NAME>, ctx: DeadDelayContext): Promise<void> {
      seen.push(delay.payload);
      await note(delay, ctx);
    }
  }
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({ issues: [{ message: 'no longer' }] }),
    },
  } as const;
  const node = await mortal.stage.start({
    providers: [plainHandler(NAME, () => {}), GivesUp],
    options: { payloads: { [NAME]: schema } },
  });
  await mortal.dead(1);
  expect(seen).toEqual([{ n: 1 }]);
  expect(await mortal.effects()).toEqual([
    { key: KEY, error: expect.stringContaining('no longer') },
  ]);
  expect(await node.delays.find(NAME, KEY)).toMatchObject({ state: 'dead', attempts: 1 });
});

import { expect, it } from '@jest/globals';
import { OnDeadDelay } from 'nestjs-delay-queue';
import { startTested, told } from '../testing/support/tested.js';
import { OtherNode } from '../../support/other-node.js';
import { fails, KEY, Mortal, NAME, note, schedule } from './support/mortal.js';

const mortal = new Mortal();

class GivesUp {
  @OnDeadDelay(NAME)
  async gaveUp(...all: Parameters<typeof note>): Promise<void> {
    await note(...all);
  }
}

it('in a test, a delay has died when time travel says so', async () => {
  const { testing, ...node } = await startTested(mortal.stage, { providers: [GivesUp, fails()] });
  await schedule(node);
  expect(told(await testing.drain())).toEqual([`${NAME} ${KEY}: dead`]);
  expect(await mortal.effects()).toHaveLength(1);
});

it('so has one whose process died before', async () => {
  const { testing, ...node } = await startTested(mortal.stage, { providers: [GivesUp, fails()] });
  const { id } = await schedule(node);
  await new OtherNode(node.dataSource).claimAndDie(id);
  await testing.drain();
  expect(await mortal.effects()).toHaveLength(1);
});

import { expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';

/** An application's own, as nestjs-cls has it. */
const tenant = new AsyncLocalStorage<string>();
const DELAYS = 10;

let outside: (string | undefined)[];

const stage = stageOfEach();

const enter = (): void => {
  outside.push(tenant.getStore());
  tenant.enterWith('shop-7');
};

const NAME = 'test.enters';
const FEW = { concurrency: 2 };

it.each([
  ['that returns no promise', plainHandler(NAME, enter, FEW)],
  ['that is async', plainHandler(NAME, async () => enter(), FEW)],
  ['that is transactional', fencedHandler(NAME, async () => enter(), FEW)],
])('what a handler %s enters ends with it: no other one sees it', async (_, provider) => {
  outside = [];
  const node = await stage.start({ providers: [provider] });
  await node.delays.scheduleMany(
    Array.from({ length: DELAYS }, () => ({ name: NAME, payload: null, after: 0 }) as const),
  );
  await stage.noneLeft();
  expect(outside).toEqual(Array.from({ length: DELAYS }, () => undefined));
});

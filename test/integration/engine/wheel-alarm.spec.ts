import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Stage } from './support/stage.js';
import { ENDED, ThreadWatch } from '../../support/thread-watch.js';

const watch = new ThreadWatch();
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

it('an application has one thread more for its wheel, and none once it is closed', async () => {
  const node = await stage.start({});
  node.wheel.after('1h', () => {});
  expect(watch.thread.threadId).not.toBe(ENDED);
  await node.stop();
  expect(watch.thread.threadId).toBe(ENDED);
});

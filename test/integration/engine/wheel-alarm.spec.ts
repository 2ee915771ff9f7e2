import { expect, it } from '@jest/globals';
import { DelayShutdownError } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';
import { ENDED, ThreadWatch } from '../../support/thread-watch.js';
import { stageOfEach } from './support/stage-of-each.js';

const watch = new ThreadWatch();
const stage = stageOfEach();

it('an application has one thread more for its wheel, and none once it is closed', async () => {
  const node = await stage.start({});
  const fired = signal();
  node.wheel.after(5, () => fired.resolve());
  await fired.promise;
  node.wheel.after('1h', () => {});
  expect(watch.thread.threadId).not.toBe(ENDED);
  await node.stop();
  expect(watch.thread.threadId).toBe(ENDED);
  expect(() => node.wheel.after(1, () => {})).toThrow(DelayShutdownError);
});

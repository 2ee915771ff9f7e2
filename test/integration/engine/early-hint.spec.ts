import { expect, it } from '@jest/globals';
import { TimerQueue } from '../../../src/delay-queue/worker/timer-queue.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { plainHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach();

it('a hint that is heard while the node still starts does it no harm', async () => {
  const heard = signal();
  // It is asked when a hint has come.
  stage.parts.replace(TimerQueue, 'isOpen', () => {
    heard.resolve();
    return false;
  });
  // Heard before the first load is answered, which also reads the clock for the first time.
  const hinted = async ({ real }: { real: () => ReturnType<NodeStore['load']> }) => {
    const wake = [1, 0, 'test.early', Date.now()];
    await stage.sql('SELECT pg_notify($1, $2)', ['delay_queue', `w[${JSON.stringify(wake)}]`]);
    await heard.promise;
    return real();
  };
  stage.parts.intercept(NodeStore, 'load', hinted, 1);
  const node = await stage.start({ providers: [plainHandler('test.early', () => {})] });
  const completed = node.next('completed');
  await node.delays.schedule('test.early', null, { after: 0 });
  expect((await completed).name).toBe('test.early');
});

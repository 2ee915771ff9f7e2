import { describe, expect, it } from '@jest/globals';
import { Notifier } from '../../../src/delay-queue/cluster/notifier.js';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import type { Wake } from '../../../src/delay-queue/store/wire/wakes.js';
import { listOf } from '../../simulation/postgres/statements/statement.js';
import { signal } from '../../support/delay-node.js';

const wake = (id: number): Wake => ({
  id,
  epoch: 3,
  name: 'order.close',
  wakeMs: 1_760_000_000_123,
  stalled: false,
  failed: false,
});

describe('Notifier', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7])(
    'sends what comes while a round ends, %d microtasks after its answer',
    async (microtasks) => {
      const sent: string[] = [];
      const answer = signal();
      const runner = {
        query: <Row>(_sql: string, [, texts]: unknown[]): Promise<Row[]> => {
          sent.push(...(listOf(texts) as string[]));
          return answer.promise.then(() => []);
        },
      };
      const notifier = new Notifier(runner, 'channel', new DelayEvents());
      notifier.send(wake(1));
      await new Promise(setImmediate);
      expect(sent).toHaveLength(1);
      answer.resolve();
      for (let n = 0; n < microtasks; n += 1) await Promise.resolve();
      notifier.send(wake(2));
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      expect(sent).toHaveLength(2);
      await notifier.drain();
    },
  );
});

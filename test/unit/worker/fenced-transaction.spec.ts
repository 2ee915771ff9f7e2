import { expect, it } from '@jest/globals';
import { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import { Call } from '../../../src/delay-queue/core/worker/call.js';
import { FencedTransaction } from '../../../src/delay-queue/core/worker/fenced-transaction.js';
import { signal } from '../../support/delay-node.js';

it('a connection stays out of the pool while the end of its session is on the way', async () => {
  const log: string[] = [];
  /** Holds up the statement that ends the session. */
  const ending = signal();
  const runner = {
    isTransactionActive: false,
    isReleased: false,
    connect: async () => {},
    stream: async () => {},
    startTransaction: async () => void (runner.isTransactionActive = true),
    commitTransaction: async () => {},
    rollbackTransaction: async () => {},
    release: async () => {},
    query: async () => [],
  };
  const client = {
    query: async () => {},
    end: async () => void log.push('close'),
    release: () => void log.push('release'),
  };
  const parts = {
    dataSource: { options: {}, createQueryRunner: () => runner },
    store: {},
    connections: {
      attempts: {
        areOwn: true,
        connect: async () => client,
        identify: async () => {},
        sessionOf: () => ({ pid: '42', opened: '1', began: null }),
        pidOf: () => 42,
        isUnfit: () => false,
      },
      on: () => ({}),
      query: async () => {
        log.push('end session');
        await ending.promise;
        log.push('session ended');
        return [];
      },
    },
  };
  const row = { id: 1, epoch: 1, name: 'a', key: null, extras: null } as never;
  const attempt = new Attempt(row, {} as never, performance.now() + 60_000, 0);
  const call = new Call(attempt.handler, [attempt], { release: () => {} });
  const transaction = new FencedTransaction(parts as never, call);

  const handled = signal();
  const done = transaction.run(() => handled.promise.then(() => ({ kind: 'completed' })));
  await new Promise(setImmediate);
  call.end({ kind: 'lost' }, () => {});
  transaction.cut();
  await new Promise(setImmediate);
  // The handler ends just now: whoever got its connection next would be hit.
  handled.resolve();
  await new Promise(setImmediate);
  expect(log).toEqual(['end session']);
  ending.resolve();
  await done;
  // Closed on this side too: the pool does not hand it on.
  expect(log).toEqual(['end session', 'session ended', 'close', 'release']);
});

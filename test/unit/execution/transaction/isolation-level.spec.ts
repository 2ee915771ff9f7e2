import { describe, expect, it } from '@jest/globals';
import { Attempt } from '../../../../src/delay-queue/execution/call/attempt.js';
import { Call } from '../../../../src/delay-queue/execution/call/call.js';
import {
  FencedTransaction,
  type FencedParts,
} from '../../../../src/delay-queue/execution/transaction/fenced-transaction.js';
import { IsolationLevel } from '../../../../src/delay-queue/execution/transaction/isolation-level.js';
import { signal } from '../../../support/delay-node.js';

/** Sessions whose default is another level than READ COMMITTED. */
interface Session {
  level: string | undefined;
  query: () => Promise<void>;
}

function runnerOf(session: Session): unknown {
  const runner = {
    isTransactionActive: false,
    isReleased: false,
    connect: async () => session,
    stream: async () => {},
    query: async () => [],
    startTransaction: async (level?: string) => {
      runner.isTransactionActive = true;
      session.level = level;
    },
    commitTransaction: async () => {},
    rollbackTransaction: async () => {
      runner.isTransactionActive = false;
    },
    release: async () => {},
  };
  return runner;
}

function callOf(id: number): Call {
  const row = { id, epoch: 1, name: 'a', key: null } as never;
  const attempt = new Attempt(row, {} as never, performance.now() + 60_000, 0);
  return new Call(attempt.handler, [attempt], { release: () => {} });
}

describe('the isolation level of attempts', () => {
  it('is READ COMMITTED, also where two find out at once that their sessions begin otherwise', async () => {
    const sessions: Session[] = [];
    const bothBegan = signal();
    let fences = 0;
    const parts = {
      dataSource: {
        createQueryRunner: () => {
          const session: Session = { level: undefined, query: async () => {} };
          sessions.push(session);
          return runnerOf(session);
        },
      },
      store: {
        fence: async ({ level }: Session, attempts: readonly Attempt[]) => {
          fences += 1;
          if (fences === 2) bothBegan.resolve();
          await bothBegan.promise;
          const ids = attempts.map(({ id }) => id);
          return { pid: 42, began: 'now', isReadCommitted: level === 'READ COMMITTED', ids };
        },
        complete: async (attempts: readonly Attempt[]) => attempts.map(({ id }) => id),
      },
      engine: { on: (session: Session) => session },
      isolation: new IsolationLevel(),
    } as unknown as FencedParts;

    const handledAt: (string | undefined)[] = [];
    const run = (index: number) =>
      new FencedTransaction(parts, callOf(index + 1)).run(() => {
        handledAt.push(sessions[index]?.level);
        return { kind: 'completed' };
      });
    const outcomes = await Promise.all([run(0), run(1)]);
    expect(outcomes).toEqual([{ kind: 'completed' }, { kind: 'completed' }]);
    expect(handledAt).toEqual(['READ COMMITTED', 'READ COMMITTED']);
  });
});

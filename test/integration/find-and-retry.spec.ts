import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, plainHandler, startNode } from '../support/delay-node.js';
import { OtherNode } from '../support/other-node.js';

const NAME = 'test.found';
const KEY = 'k';

let database: TestDatabase;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

const start = async (...providers: ReturnType<typeof plainHandler>[]): Promise<void> => {
  node = await startNode({ url: database.url, providers });
};

const schedule = (after: number | '1h' = 0) =>
  node.delays.schedule(NAME, null, { after, key: KEY });

const history = () => node.delays.history(NAME, KEY);

describe('retryDead', () => {
  it('makes a dead letter due now with all its attempts, and it can complete', async () => {
    let works = false;
    const run = () => {
      if (!works) throw new Error('not yet');
    };
    await start(plainHandler(NAME, run, { maxAttempts: 2, backoff: () => 1 }));
    const dead = node.next('dead');
    const { id, dueAt } = await schedule();
    await dead;
    works = true;
    const completed = node.next('completed');
    const retried = await node.delays.retryDead(NAME, KEY);
    expect(retried).toMatchObject({ verdict: 'retried', id });
    expect('dueAt' in retried && retried.dueAt.getTime()).toBeGreaterThan(dueAt.getTime());
    expect(await completed).toMatchObject({ attempt: 1, maxAttempts: 2 });
    expect(await history()).toMatchObject([{ state: 'completed', attempts: 1 }]);
  });

  it('is absent for whatever is not dead, and changes nothing', async () => {
    await start();
    expect(await node.delays.retryDead(NAME, KEY)).toEqual({ verdict: 'absent' });
    const { dueAt } = await schedule('1h');
    expect(await node.delays.retryDead(NAME, KEY)).toEqual({ verdict: 'absent' });
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ state: 'scheduled', dueAt });
  });

  it('lives and dies with the transaction of the caller', async () => {
    await start();
    const { id } = await schedule();
    await new OtherNode(node.dataSource).claimAndFail(id, null);
    const rolledBack = node.dataSource.transaction(async (manager) => {
      const { verdict } = await node.delays.retryDead(NAME, KEY, { manager });
      throw new Error(verdict);
    });
    await expect(rolledBack).rejects.toThrow('retried');
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ state: 'dead', wakeAt: null });
  });
});

describe('find', () => {
  it('tells the state that the delay is in', async () => {
    await start();
    const other = new OtherNode(node.dataSource);
    const stateOf = async () => {
      const { state, attempts } = (await node.delays.find(NAME, KEY)) ?? {};
      return [state, attempts];
    };
    expect(await node.delays.find(NAME, KEY)).toBeNull();
    const { id } = await schedule();
    expect(await stateOf()).toEqual(['scheduled', 0]);
    await other.claimAndFail(id, 0);
    expect(await stateOf()).toEqual(['retrying', 1]);
    const { epoch } = await other.claim(id);
    expect(await stateOf()).toEqual(['running', 2]);
    await other.store.retry([
      { id: Number(id), epoch, waitMs: 0, movesDue: false, refund: 1, error: null },
    ]);
    await other.claimAndDie(id);
    expect(await stateOf()).toEqual(['retrying', 2]);
    await other.claimAndFail(id, null);
    expect(await stateOf()).toEqual(['dead', 3]);
  });
});

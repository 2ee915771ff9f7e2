import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';

describe('a delay', () => {
  let database: TestDatabase;
  let node: DelayNode;

  beforeEach(async () => {
    database = await createTestDatabase();
  });

  afterEach(async () => {
    await node?.stop();
    await database.drop();
  });

  it('fires once, not before it is due, and leaves the table for history', async () => {
    const runs: { latenessMs: number; payload: unknown }[] = [];
    node = await startNode({
      url: database.url,
      providers: [
        plainHandler(
          'test.fire',
          ({ latenessMs, payload }) => void runs.push({ latenessMs, payload }),
        ),
      ],
    });
    const completed = node.next('completed');
    const { verdict, dueAt } = await node.delays.schedule(
      'test.fire',
      { n: 1 },
      { after: 60, key: 'k' },
    );
    expect(verdict).toBe('scheduled');
    await completed;
    expect(runs).toHaveLength(1);
    expect(runs[0]?.payload).toEqual({ n: 1 });
    expect(runs[0]?.latenessMs).toBeGreaterThanOrEqual(0);
    expect(await node.delays.find('test.fire', 'k')).toBeNull();
    const [record] = await node.delays.history('test.fire', 'k');
    expect(record).toMatchObject({ state: 'completed', attempts: 1, key: 'k', dueAt, error: null });
  });

  it('commits what a transactional handler wrote together with its removal', async () => {
    node = await startNode({
      url: database.url,
      providers: [
        fencedHandler('test.fenced', async (_delay, { manager }) => {
          await manager.query('INSERT INTO effect VALUES (1)');
        }),
      ],
    });
    await node.dataSource.query('CREATE TABLE effect (n int)');
    const completed = node.next('completed');
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
    await completed;
    expect(await node.dataSource.query('SELECT n FROM effect')).toEqual([{ n: 1 }]);
    expect(await node.delays.history('test.fenced', 'k')).toMatchObject([{ state: 'completed' }]);
  });

  it('is tried again after a failure and ends as a dead letter with its error', async () => {
    let runs = 0;
    node = await startNode({
      url: database.url,
      providers: [
        plainHandler(
          'test.fail',
          () => {
            runs += 1;
            throw new Error(`no. ${runs}`);
          },
          { maxAttempts: 3, backoff: () => 5 },
        ),
      ],
    });
    const dead = node.next('dead');
    await node.delays.schedule('test.fail', null, { after: 0, key: 'k' });
    await dead;
    expect(runs).toBe(3);
    expect(await node.delays.find('test.fail', 'k')).toMatchObject({
      state: 'dead',
      attempts: 3,
      wakeAt: null,
      lastError: 'Error: no. 3',
    });
  });
});

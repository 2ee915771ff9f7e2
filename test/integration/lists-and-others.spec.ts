import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayTarget } from 'nestjs-delay-queue';
import type { EntityManager, QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, signal, startNode } from '../support/delay-node.js';
import { until } from '../support/until.js';

/** Lists of delays that others have a hand in: other callers, and the handler that calls. */
const LATER = { after: '1h' } as const;
const HOUR_MS = 3_600_000;

let database: TestDatabase;
let node: DelayNode;
/** What the handler of `test.acts` does. */
let script: ((manager: EntityManager) => Promise<void>) | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  const acts = fencedHandler('test.acts', (_delay, { manager }) => script?.(manager));
  node = await startNode({ url: database.url, providers: [acts] });
});

afterAll(async () => {
  await node.stop();
  await database.drop();
});

beforeEach(async () => {
  await node.dataSource.query('DELETE FROM delay_queue.delay');
});

const keys = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: 'test.waits', key: `k${index}` }) as const);

const shuffledKeys = (count: number) => keys(count).toSorted(() => Math.random() - 0.5);

const scheduled = (count: number) =>
  node.delays.scheduleMany(keys(count).map((target) => ({ ...target, payload: null, ...LATER })));

describe('beside others', () => {
  it('a thousand keys cost one statement, and none is left', async () => {
    await scheduled(1_000);
    const statements: string[] = [];
    const results = await node.dataSource.transaction(async (manager) => {
      const runner = manager.queryRunner as QueryRunner;
      const query = runner.query.bind(runner);
      runner.query = (...given: [string]) => {
        statements.push(given[0]);
        return query(...given);
      };
      return await node.delays.cancelMany(keys(1_000), { manager });
    });
    expect(statements.filter((sql) => sql !== 'COMMIT')).toHaveLength(1);
    expect(results.every(({ verdict }) => verdict === 'cancelled')).toBe(true);
  });

  it('callers with the same keys in any order get every key once, and none is a deadlock', async () => {
    await scheduled(200);
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0
          ? node.delays.cancelMany(shuffledKeys(200))
          : node.dataSource.transaction((manager) =>
              node.delays.cancelMany(shuffledKeys(200), { manager }),
            ),
      ),
    );
    const cancelled = all.flat().filter(({ verdict }) => verdict === 'cancelled');
    expect(new Set(cancelled.map((one) => (one as { id: string }).id)).size).toBe(200);
    expect(cancelled).toHaveLength(200);
  });

  it('a row that somebody has is waited for, and what he made of it is told', async () => {
    await scheduled(3);
    const moved = signal();
    const waiting = node.dataSource.transaction(async (manager) => {
      await node.delays.reschedule('test.waits', 'k1', { after: '3h' }, { manager });
      moved.resolve();
      await until(
        () =>
          node.dataSource.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          ),
        (rows: unknown[]) => rows.length > 0,
      );
    });
    await moved.promise;
    const results = await node.delays.rescheduleMany(keys(3), { extendBy: '1h' });
    await waiting;
    const inHours = results.map((one) =>
      'dueAt' in one ? Math.round((one.dueAt.getTime() - Date.now()) / HOUR_MS) : undefined,
    );
    expect(inHours).toEqual([2, 4, 2]);
  });
});

describe('in a handler', () => {
  it.each(['key', 'id'] as const)(
    'its own delay moves on when it is rescheduled by %s',
    async (by) => {
      const other = await node.delays.schedule('test.waits', null, { ...LATER, key: 'other' });
      const verdicts = signal<string[]>();
      const self = { name: 'test.acts', key: 'self' } as const;
      script = async (manager) => {
        script = undefined;
        const found = await node.delays.find(self.name, self.key);
        const targets: DelayTarget[] = [
          by === 'key' ? self : { id: (found as { id: string }).id },
          { id: other.id },
        ];
        const results = [
          await node.delays.cancelMany(targets.slice(0, 1), { manager }),
          await node.admin.runNow(targets.slice(0, 1), { manager }),
          await node.delays.rescheduleMany(targets, LATER, { manager }),
        ];
        verdicts.resolve(results.flat().map(({ verdict }) => verdict));
      };
      const ended = node.next('superseded', ({ name }) => name === self.name);
      await node.delays.schedule(self.name, null, { after: 0, key: self.key });
      expect(await verdicts.promise).toEqual(['running', 'running', 'rescheduled', 'rescheduled']);
      await ended;
      expect(await node.delays.find(self.name, self.key)).toMatchObject({ state: 'scheduled' });
    },
  );
});

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  type DeadDelayContext,
  type Delay,
  DiscardDelay,
  OnDeadDelay,
  OnDelay,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { census, grown } from '../../support/census.js';
import {
  batchHandler,
  type DelayNode,
  fencedHandler,
  plainHandler,
} from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';

/** Of each act so many before anything is counted, and so many that must leave nothing. */
const WARM = 20;
const TIMES = 200;
/** What a process may hold more of for reasons of its own. */
const ODD = 180;
const LOOK_EVERY_MS = 500;

class ExhaustedDelay {
  @OnDelay('test.dying', { maxAttempts: 1, transactional: false })
  run(): void {
    throw new Error('no');
  }

  @OnDeadDelay('test.dying')
  async dead(_: Delay<'test.dying'>, { manager }: DeadDelayContext): Promise<void> {
    await manager.query('SELECT 1');
  }
}

const failsOnce = ({ attempt }: { attempt: number }): void => {
  if (attempt === 1) throw new Error('no');
};

const untilAborted = (_: unknown, { signal }: { signal: AbortSignal }): Promise<void> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

const providers = [
  plainHandler('test.plain', () => {}),
  fencedHandler('test.fenced', async (_, { manager }) => void (await manager.query('SELECT 1'))),
  batchHandler('test.batch', () => {}, { batch: 10 }),
  plainHandler('test.retried', failsOnce),
  fencedHandler('test.fenced-retried', failsOnce),
  plainHandler('test.discarded', () => {
    throw new DiscardDelay('not wanted');
  }),
  plainHandler('test.limited', () => {}, { perGroup: { concurrency: 1 }, concurrency: 20 }),
  plainHandler('test.aborted', untilAborted, { concurrency: 200 }),
  plainHandler('test.timed-out', untilAborted, { timeout: '5ms', maxAttempts: 1 }),
  ExhaustedDelay,
];

let stage: Stage;
let node: DelayNode;
/** Told, and tells, of what comes and goes. */
let other: DelayNode;

beforeAll(async () => {
  stage = await Stage.open();
  node = await stage.start({ providers });
  other = await stage.start({ providers });
});

afterAll(() => stage.close());

const NOW = { after: 0 } as const;
const LATER = { after: '1h' } as const;
const oops = new Error('on purpose');

const rolledBack = (work: (manager: EntityManager) => Promise<unknown>): Promise<void> =>
  node.dataSource
    .transaction(async (manager) => {
      await work(manager);
      throw oops;
    })
    .then(
      () => {},
      (error: unknown) => {
        if (error !== oops) throw error;
      },
    );

async function inPlainSql(key: string): Promise<void> {
  const runner = node.dataSource.createQueryRunner();
  const { manager } = runner;
  await runner.query('BEGIN');
  await node.delays.schedule('test.plain', null, { ...NOW, key, manager });
  await runner.query('SAVEPOINT s');
  await node.delays.cancel('test.plain', key, { manager });
  await runner.query('ROLLBACK TO s');
  await runner.query('COMMIT');
  await runner.release();
}

/** Each ends with nothing left of it, sooner or later. */
const ACTS: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
  plain: () => node.delays.schedule('test.plain', null, NOW),
  'by another node': (key) => other.delays.schedule('test.plain', null, { ...NOW, key }),
  fenced: (key) => node.delays.schedule('test.fenced', null, { ...NOW, key }),
  batch: () => node.delays.schedule('test.batch', null, NOW),
  retried: () => node.delays.schedule('test.retried', null, NOW),
  'fenced, retried': () => node.delays.schedule('test.fenced-retried', null, NOW),
  discarded: async (key) => {
    await node.delays.schedule('test.discarded', null, { ...NOW, key });
  },
  limited: (group) => node.delays.schedule('test.limited', null, { ...NOW, group }),
  'limited, one group': () => node.delays.schedule('test.limited', null, { ...NOW, group: 'g' }),
  'timed out': () => node.delays.schedule('test.timed-out', null, NOW),
  dying: () => node.delays.schedule('test.dying', null, NOW),
  cancelled: async (key) => {
    await node.delays.schedule('test.plain', null, { ...LATER, key });
    await node.delays.cancel('test.plain', key);
  },
  'moved, found and cancelled': async (key) => {
    await node.delays.schedule('test.plain', null, { after: '20s', key });
    await node.delays.reschedule('test.plain', key, LATER);
    await node.delays.find('test.plain', key);
    await node.delays.schedule('test.plain', null, { after: '10s', key });
    await node.delays.cancel('test.plain', key);
  },
  aborted: async (key) => {
    await node.delays.schedule('test.aborted', null, { ...NOW, key });
    await until(
      () => node.delays.cancel('test.aborted', key, { running: 'abort', abortWithin: '20s' }),
      ({ verdict }) => verdict !== 'running',
    );
  },
  'once more': async (key) => {
    const again = { ...NOW, key, running: 'rerun' } as const;
    await Promise.all([1, 2, 3].map(() => node.delays.schedule('test.plain', null, again)));
  },
  'in a transaction': (key) =>
    node.dataSource.transaction((manager) =>
      Promise.all([
        node.delays.schedule('test.plain', null, { ...NOW, key, manager }),
        node.delays.schedule('test.fenced', null, { ...NOW, key, manager }),
      ]),
    ),
  'rolled back': (key) =>
    rolledBack((manager) => node.delays.schedule('test.plain', null, { ...NOW, key, manager })),
  'rolled back in part': (key) =>
    node.dataSource.transaction(async (manager) => {
      const inner = manager.transaction(async (nested) => {
        await node.delays.schedule('test.plain', null, { ...NOW, key, manager: nested });
        throw oops;
      });
      await expect(inner).rejects.toBe(oops);
    }),
  'in plain SQL': inPlainSql,
  many: (key) =>
    node.delays.scheduleMany(
      [1, 2, 3].map((n) => ({ name: 'test.plain', payload: null, ...NOW, key: key + n })),
    ),
  refused: (key) =>
    expect(node.delays.schedule('test.plain', null, { key } as never)).rejects.toThrow(
      /payload|after|at/,
    ),
  listeners: async () => {
    const heard: string[] = [];
    const listener = ({ id }: { id: string }): void => void heard.push(id);
    node.events.on('completed', listener);
    node.events.off('completed', listener);
  },
  looks: async (key) => {
    await node.admin.list({ name: 'test.plain' });
    await node.delays.history('test.plain', key);
  },
  paused: async (group) => {
    await node.admin.pause('test.plain', { group });
    await node.admin.resume('test.plain', { group });
  },
};

let round = 0;

/** Seldom, for each asks all nodes to look. */
const RARE: Readonly<Record<string, number>> = { paused: 20, looks: 5, listeners: 1 };

async function actAll(times: number): Promise<void> {
  round += 1;
  for (const [name, act] of Object.entries(ACTS)) {
    const count = Math.ceil(times / (RARE[name] ?? 1));
    for (let from = 0; from < count; from += 20) {
      const some = Array.from({ length: Math.min(20, count - from) }, (_, n) => from + n);
      await Promise.all(some.map((n) => act(`${name} ${round} ${n}`)));
    }
  }
  await stage.until(
    `SELECT 'delay ' || name AS what, count(*) FROM delay_queue.delay WHERE wake_at < 'infinity' GROUP BY 1
     UNION ALL SELECT 'rerun ' || name, count(*) FROM delay_queue.rerun GROUP BY 1`,
    ({ length }) => length === 0,
  );
  await stage.sql('TRUNCATE delay_queue.delay');
}

it('what has come and gone leaves nothing: no entry, no listener, no timer, no promise, no row', async () => {
  await actAll(WARM);
  const before = census();
  await actAll(TIMES);
  // What a limit held back is known for two seconds more; and each look walks the whole heap.
  await until(
    () => pause(LOOK_EVERY_MS).then(() => grown(before, census(), ODD)),
    (more) => Object.keys(more).length === 0,
    { withinMs: 20_000 },
  );
  expect(before['items of arrays']).toBeGreaterThan(0);
}, 180_000);

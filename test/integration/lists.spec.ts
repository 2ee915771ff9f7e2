import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayTarget } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  type DelayNode,
  plainHandler,
  type Signal,
  signal,
  startNode,
} from '../support/delay-node.js';
import { until } from '../support/until.js';

/** Calls about lists of delays: `cancelMany`, `rescheduleMany`, and those of `DelayAdmin`. */
const LATER = { after: '1h' } as const;
const HOUR_MS = 3_600_000;

let database: TestDatabase;
let node: DelayNode;
/** Of `test.held`: its handler runs until this resolves. */
let held: Signal<void>;
let holds: Signal<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({
    url: database.url,
    providers: [
      plainHandler('test.held', async () => {
        holds.resolve();
        await held.promise;
      }),
      plainHandler('test.fails', () => Promise.reject(new Error('no')), { maxAttempts: 1 }),
      plainHandler('test.tries', () => Promise.reject(new Error('no')), {
        maxAttempts: 2,
        backoff: () => HOUR_MS,
      }),
      plainHandler('test.ran', () => {}),
    ],
  });
});

afterAll(async () => {
  held?.resolve();
  await node.stop();
  await database.drop();
});

beforeEach(async () => {
  await nothingIsLeft();
});

/** The handler that is held ends, and its row goes after that. */
async function nothingIsLeft(): Promise<void> {
  held?.resolve();
  await until(
    async () => {
      await node.dataSource.query('DELETE FROM delay_queue.delay WHERE leased_by IS NULL');
      return node.admin.count({});
    },
    (count) => count === 0,
  );
  held = signal();
  holds = signal();
}

type State = 'waits' | 'retries' | 'runs' | 'dead';

const TARGETS = [
  { name: 'test.waits', key: 'waits' },
  { name: 'test.tries', key: 'retries' },
  { name: 'test.held', key: 'runs' },
  { name: 'test.fails', key: 'dead' },
] as const;

/** A delay in each state; answers their ids. */
async function oneOfEach(): Promise<Record<State, string>> {
  const { delays } = node;
  const now = { after: 0 } as const;
  const [waits, retries, runs, dead] = await Promise.all([
    delays.schedule('test.waits', null, { ...LATER, key: 'waits' }),
    delays.schedule('test.tries', null, { ...now, key: 'retries' }),
    delays.schedule('test.held', null, { ...now, key: 'runs' }),
    delays.schedule('test.fails', null, { ...now, key: 'dead' }),
    holds.promise,
  ]);
  await until(
    () => Promise.all(TARGETS.map(({ name, key }) => delays.find(name, key))),
    (found) => found.map((delay) => delay?.state).join() === 'scheduled,retrying,running,dead',
  );
  return { waits: waits.id, retries: retries.id, runs: runs.id, dead: dead.id };
}

type Call = (targets: readonly DelayTarget[], manager?: EntityManager) => Promise<Verdict[]>;
interface Verdict {
  verdict: string;
  id?: string;
  dueAt?: Date;
}

const CALLS: [name: string, call: Call, verdicts: Record<State, string>][] = [
  [
    'cancelMany',
    (targets, manager) => node.delays.cancelMany(targets, { manager }),
    { waits: 'cancelled', retries: 'cancelled', runs: 'running', dead: 'cancelled' },
  ],
  [
    'rescheduleMany',
    (targets, manager) => node.delays.rescheduleMany(targets, { after: '2h' }, { manager }),
    { waits: 'rescheduled', retries: 'rescheduled', runs: 'running', dead: 'absent' },
  ],
  [
    'runNow',
    (targets, manager) => node.admin.runNow(targets, { manager }),
    { waits: 'due', retries: 'due', runs: 'running', dead: 'absent' },
  ],
  [
    'retryDead',
    (targets, manager) => node.admin.retryDead(targets, { manager }),
    { waits: 'absent', retries: 'absent', runs: 'absent', dead: 'retried' },
  ],
  [
    'discardDead',
    (targets, manager) => node.admin.discardDead(targets, { manager }),
    { waits: 'absent', retries: 'absent', runs: 'absent', dead: 'discarded' },
  ],
];

const TRANSACTIONS = {
  'its own transaction': (work: (manager?: EntityManager) => Promise<Verdict[]>) => work(),
  "the caller's": (work: (manager?: EntityManager) => Promise<Verdict[]>) =>
    node.dataSource.transaction(work),
};

describe.each(CALLS)('%s', (_name, call, verdicts) => {
  const STATES = Object.keys(verdicts) as State[];

  it.each(Object.entries(TRANSACTIONS))('answers each of its list, in %s', async (_of, inside) => {
    for (const by of ['key', 'id'] as const) {
      const ids = await oneOfEach();
      const byId = STATES.map((state) => ({ id: ids[state] }));
      const nobody: DelayTarget =
        by === 'key' ? { name: 'test.waits', key: 'no' } : { id: '99999' };
      const targets = [nobody, ...(by === 'key' ? TARGETS : byId)].toReversed();

      const results = await inside((manager) => call(targets, manager));

      const expected = ['absent', ...STATES.map((state) => verdicts[state])].toReversed();
      expect(results.map(({ verdict }) => verdict)).toEqual(expected);
      const told = results.filter(({ verdict }) => verdict !== 'absent').map(({ id }) => id);
      const isTold = (state: State) => verdicts[state] !== 'absent';
      expect(told).toEqual(
        STATES.filter(isTold)
          .map((state) => ids[state])
          .toReversed(),
      );
      await nothingIsLeft();
    }
  });

  it('is undone with the transaction of its caller', async () => {
    const ids = await oneOfEach();
    const rows = () =>
      node.dataSource.query('SELECT * FROM delay_queue.delay WHERE leased_by IS NULL ORDER BY id');
    const before: unknown = await rows();
    const failing = node.dataSource.transaction(async (manager) => {
      await call(
        Object.values(ids).map((id) => ({ id })),
        manager,
      );
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    expect(await rows()).toEqual(before);
  });

  it.each([
    ['neither list nor filter', 'k', expect.stringMatching(/^(targets|filter)$/)],
    ['too many', Array.from({ length: 10_001 }, (_, index) => ({ id: `${index + 1}` })), 'targets'],
    ['neither key nor id', [{ name: 'test.a' }], 'targets[0].key'],
    ['key and id', [{ id: '1', name: 'test.a', key: 'k' }], 'targets[0].id'],
    ['an id that is a number', [{ id: 7 }], 'targets[0].id'],
    ['an id beyond all numbers', [{ id: '9999999999999999' }], 'targets[0].id'],
    ['a key that stands twice', [TARGETS[0], TARGETS[1], TARGETS[0]], 'targets[2].key'],
    ['an id that stands twice', [{ id: '1' }, { id: '1' }], 'targets[1].id'],
    ['an unknown field', [{ name: 'test.a', key: 'k', kye: 1 }], 'targets[0].target.kye'],
  ])('refuses %s', async (_what, targets, field) => {
    await expect(call(targets as DelayTarget[])).rejects.toMatchObject({ field });
  });

  it('answers nothing to an empty list', async () => {
    expect(await call([])).toEqual([]);
  });
});

describe('what is changed', () => {
  it('runs now that waited, with the attempts that it had', async () => {
    const { retries } = await oneOfEach();
    const dead = node.next('dead', ({ id }) => id === retries);
    const done = node.next('completed', ({ name }) => name === 'test.ran');
    const { id } = await node.delays.schedule('test.ran', null, LATER);
    await node.admin.runNow([{ id: retries }, { id }]);
    expect(await dead).toMatchObject({ attempt: 2 });
    await done;
  });

  it('is retried with all its attempts', async () => {
    const { dead } = await oneOfEach();
    const again = node.next('dead', ({ id }) => id === dead);
    await node.admin.retryDead([{ id: dead }]);
    expect(await again).toMatchObject({ attempt: 1 });
  });

  it('stands in history', async () => {
    await oneOfEach();
    await node.delays.cancelMany(TARGETS);
    const ends = await Promise.all(TARGETS.map(({ name, key }) => node.delays.history(name, key)));
    const [waits, retries, , dead] = ends.map(([last]) => last?.state);
    expect([waits, retries, dead]).toEqual(['cancelled', 'cancelled', 'discarded']);
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import type { DelayTarget } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { fencedHandler, plainHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';

/** Calls about lists of delays: `cancelMany`, `rescheduleMany`, and those of `DelayAdmin`. */
const LATER = { after: '1h' } as const;
const HOUR_MS = 3_600_000;

/** What the handler of `test.acts` does. */
let act: ((manager: EntityManager) => Promise<void>) | undefined;

const fails = ({ payload }: { payload: unknown }): void => {
  if (payload === 'fails') throw new Error('no');
};
const node = new OneNode({
  providers: [
    plainHandler('test.ran', fails, { maxAttempts: 2 }),
    fencedHandler('test.acts', (_delay, { manager }) => act?.(manager)),
  ],
});
let other: OtherNode;

beforeAll(() => {
  other = new OtherNode(node.dataSource);
});

const STATES = ['waits', 'retries', 'runs', 'dead'] as const;
type State = (typeof STATES)[number];

const TARGETS = STATES.map((state) => ({ name: `test.${state}`, key: state }) as const);

/** A delay in each state, of names that this node has no handlers for; answers their ids. */
async function oneOfEach(): Promise<Record<State, string>> {
  const made = await node.delays.scheduleMany(
    TARGETS.map((target) => ({
      ...target,
      payload: null,
      ...(target.key === 'waits' ? LATER : { after: 0 }),
    })),
  );
  const [waits, retries, runs, dead] = made.map(({ id }) => id) as [string, string, string, string];
  await other.claimAndFail(retries, HOUR_MS);
  await other.claim(runs);
  await other.claimAndFail(dead, null);
  return { waits, retries, runs, dead };
}

interface Verdict {
  verdict: string;
  id?: string;
}
type Call = (targets: readonly DelayTarget[], manager?: EntityManager) => Promise<Verdict[]>;

const NONE = { waits: 'absent', retries: 'absent', runs: 'absent', dead: 'absent' };

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
    { ...NONE, dead: 'retried' },
  ],
  [
    'discardDead',
    (targets, manager) => node.admin.discardDead(targets, { manager }),
    { ...NONE, dead: 'discarded' },
  ],
];

const rows = () => node.sql('SELECT * FROM delay_queue.delay ORDER BY id');

const told = (results: readonly Verdict[]): string[] =>
  results.map(({ verdict, id }) => (id === undefined ? verdict : `${verdict} ${id}`));

describe.each(CALLS)('%s', (_name, call, verdicts) => {
  it.each(['key', 'id'] as const)(
    'answers each of its list by %s; is undone with the transaction of its caller',
    async (by) => {
      const ids = await oneOfEach();
      const nobody = by === 'key' ? { name: 'test.waits', key: 'no' } : { id: '99999' };
      const found = by === 'key' ? TARGETS : STATES.map((state) => ({ id: ids[state] }));
      const targets = [nobody, ...found].toReversed() as DelayTarget[];
      const expected = STATES.toReversed().map((state) =>
        verdicts[state] === 'absent' ? NONE.dead : `${verdicts[state]} ${ids[state]}`,
      );
      const before = await rows();
      const transaction = await node.begin();
      expect(told(await call(targets, transaction.manager))).toEqual([...expected, 'absent']);
      await transaction.rollback();
      expect(await rows()).toEqual(before);
      expect(told(await call(targets))).toEqual([...expected, 'absent']);
      expect(await call([])).toEqual([]);
    },
  );
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
])('each call refuses %s', async (_what, targets, field) => {
  const errors = await Promise.all(
    CALLS.map(([name, call]) =>
      call(targets as DelayTarget[]).catch((error: { field: string }) => [name, error.field]),
    ),
  );
  expect(errors).toEqual(CALLS.map(([name]) => [name, field]));
});

it('what is run now goes on with its attempts, what is retried begins anew', async () => {
  const [waits, dead] = await node.delays.scheduleMany(
    ['fails', 'succeeds'].map((payload) => ({ name: 'test.ran', payload, ...LATER }) as const),
  );
  await node.sql(`UPDATE delay_queue.delay SET attempts = 1`);
  await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity' WHERE id = $1`, [dead!.id]);
  const dies = node.next('dead');
  await node.admin.runNow([{ id: waits!.id }]);
  expect(await dies).toMatchObject({ id: waits!.id, attempt: 2 });
  const completes = node.next('completed');
  await node.admin.retryDead([{ id: dead!.id }]);
  expect(await completes).toMatchObject({ id: dead!.id, attempt: 1 });
});

it('what is cancelled stands in history', async () => {
  await oneOfEach();
  await node.delays.cancelMany(TARGETS);
  const ends = await Promise.all(TARGETS.map(({ name, key }) => node.delays.history(name, key)));
  const states = ends.map(([last]) => last?.state);
  expect(states).toEqual(['cancelled', 'cancelled', undefined, 'discarded']);
});

describe('beside others', () => {
  const KEYS = Array.from(
    { length: 50 },
    (_, n) => ({ name: 'test.waits', key: `k${n}` }) as const,
  );
  const shuffled = () => KEYS.toSorted(() => Math.random() - 0.5);
  const scheduled = () =>
    node.delays.scheduleMany(KEYS.map((target) => ({ ...target, payload: null, ...LATER })));

  const inTransaction = () =>
    node.dataSource.transaction(async (manager) => {
      const runner = manager.queryRunner!;
      let statements = 0;
      const query = runner.query.bind(runner);
      runner.query = (...given: [string]) => {
        statements += 1;
        return query(...given);
      };
      const results = await node.delays.cancelMany(shuffled(), { manager });
      // A second one where it waited for rows that another caller then removed.
      expect(statements).toBeLessThanOrEqual(2);
      return results;
    });

  it('callers with the same keys in any order get every key once, by a statement or two, and none is a deadlock', async () => {
    await scheduled();
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0 ? node.delays.cancelMany(shuffled()) : inTransaction(),
      ),
    );
    const cancelled = all.flat().flatMap((one) => (one.verdict === 'cancelled' ? [one.id] : []));
    expect(cancelled).toHaveLength(KEYS.length);
    expect(new Set(cancelled).size).toBe(KEYS.length);
  });

  it('a row that somebody has is waited for, and what he made of it is told', async () => {
    await scheduled();
    const { manager, blocksSomebody, commit } = await node.begin();
    await node.delays.reschedule('test.waits', 'k1', { after: '3h' }, { manager });
    const moving = node.delays.rescheduleMany(KEYS.slice(0, 3), { extendBy: '1h' });
    await blocksSomebody();
    await commit();
    const inHours = (await moving).map((one) =>
      'dueAt' in one ? Math.round((one.dueAt.getTime() - Date.now()) / HOUR_MS) : undefined,
    );
    expect(inHours).toEqual([2, 4, 2]);
  });
});

it.each(['key', 'id'] as const)(
  'a handler whose own delay is in the list by %s moves it on when it is rescheduled',
  async (by) => {
    const beside = await node.delays.schedule('test.waits', null, { ...LATER, key: 'beside' });
    const verdicts = signal<string[]>();
    const self = { name: 'test.acts', key: 'self' } as const;
    act = async (manager) => {
      const { id } = (await node.delays.find(self.name, self.key))!;
      const own: DelayTarget = by === 'key' ? self : { id };
      const results = [
        await node.delays.cancelMany([own], { manager }),
        await node.admin.runNow([own], { manager }),
        await node.delays.rescheduleMany([own, { id: beside.id }], LATER, { manager }),
      ];
      verdicts.resolve(results.flat().map(({ verdict }) => verdict));
    };
    const ended = node.next('superseded');
    await node.delays.schedule(self.name, null, { after: 0, key: self.key });
    expect(await verdicts.promise).toEqual(['running', 'running', 'rescheduled', 'rescheduled']);
    await ended;
    expect(await node.delays.find(self.name, self.key)).toMatchObject({ state: 'scheduled' });
  },
);

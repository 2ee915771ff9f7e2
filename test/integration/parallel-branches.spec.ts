import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ScheduleItem } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, startNode } from '../support/delay-node.js';
import { type OpenTransaction, OpenTransactions } from '../support/open-transactions.js';
import { OtherNode } from '../support/other-node.js';

/**
 * Branches of one transaction run in parallel on its one connection: their statements land anywhere between
 * those of a call. Nothing of theirs may be undone by it.
 */
const NAME = 'test.a';
const LATER = { after: '1h' } as const;

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await transactions.rollbackAll();
  await node.stop();
  await database.drop();
});

const start = async (...providers: Parameters<typeof startNode>[0]['providers'] & object) => {
  node = await startNode({ url: database.url, providers });
  await node.dataSource.query('CREATE TABLE ledger (entry text)');
};

const schedule = (key: string, manager?: EntityManager) =>
  node.delays.schedule(NAME, { n: 1 }, { ...LATER, key, manager });

const note = (manager: EntityManager, entry: string | number): Promise<unknown> =>
  manager.query('INSERT INTO ledger VALUES ($1)', [String(entry)]);

const ledger = async (): Promise<string[]> =>
  (await node.dataSource.query<{ entry: string }[]>('SELECT entry FROM ledger ORDER BY 1')).map(
    ({ entry }) => entry,
  );

const liveKeys = async (): Promise<string[]> =>
  (
    await node.dataSource.query<{ key: string }[]>('SELECT key FROM delay_queue.delay ORDER BY 1')
  ).map(({ key }) => key);

const verdicts = (answers: readonly { verdict: string }[]): string[] =>
  answers.map(({ verdict }) => verdict);

/** Somebody holds the row, uncommitted, as a claim or a caller does. */
async function held(key: string): Promise<OpenTransaction> {
  const other = await transactions.begin(node.dataSource);
  await other.manager.query('SELECT FROM delay_queue.delay WHERE key = $1 FOR UPDATE', [key]);
  return other;
}

describe('calls and writes that run in parallel in one transaction', () => {
  beforeEach(() => start());

  it('two cancels, one of which meets a row that somebody cancels: both are true', async () => {
    await schedule('a');
    await schedule('b');
    const other = await transactions.begin(node.dataSource);
    await node.delays.cancel(NAME, 'a', { manager: other.manager });
    const { manager, commit } = await transactions.begin(node.dataSource);
    const first = node.delays.cancel(NAME, 'a', { manager });
    await other.isMet();
    const second = node.delays.cancel(NAME, 'b', { manager });
    await other.commit();
    expect(verdicts(await Promise.all([first, second]))).toEqual(['absent', 'cancelled']);
    await commit();
    expect(await liveKeys()).toEqual([]);
  });

  it.each([
    ['cancel', (manager: EntityManager) => node.delays.cancel(NAME, 'order', { manager })],
    ['schedule', (manager: EntityManager) => schedule('order', manager)],
    [
      'reschedule',
      (manager: EntityManager) => node.delays.reschedule(NAME, 'order', LATER, { manager }),
    ],
  ])('writes beside a %s that meets a claim and hears `running` stand', async (_verb, call) => {
    const { id } = await node.delays.schedule(NAME, { n: 1 }, { after: 0, key: 'order' });
    const claiming = await transactions.begin(node.dataSource);
    await new OtherNode(claiming.manager).claim(id);
    const { manager, commit } = await transactions.begin(node.dataSource);
    await note(manager, 'before');
    const answer = call(manager);
    await claiming.isMet();
    const beside = Promise.all([
      ...[1, 2, 3, 4, 5, 6].map((entry) => note(manager, entry)),
      schedule('other', manager),
    ]);
    await claiming.commit();
    expect((await answer).verdict).toBe('running');
    await beside;
    await commit();
    expect(await ledger()).toEqual(['1', '2', '3', '4', '5', '6', 'before']);
    expect(await liveKeys()).toEqual(['order', 'other']);
  });

  it('a scheduleMany that conflicts takes back its own, and nothing of the branches beside it', async () => {
    await schedule('replaced');
    await schedule('taken');
    const other = await held('taken');
    const { manager, commit } = await transactions.begin(node.dataSource);
    const items: ScheduleItem[] = ['new', 'replaced', 'taken', 'z'].map((key) => ({
      name: NAME,
      payload: { n: 2 },
      ...LATER,
      key,
      onConflict: key === 'taken' ? 'error' : 'replace',
    }));
    const many = node.delays.scheduleMany([...items, { name: NAME, payload: { n: 2 }, ...LATER }], {
      manager,
    });
    await other.isMet();
    const beside = Promise.all(
      [1, 2, 3].flatMap((n) => [note(manager, n), schedule(`beside ${n}`, manager)]),
    );
    await other.rollback();
    await expect(many).rejects.toMatchObject({ code: 'DELAY_CONFLICT' });
    await beside;
    await commit();
    expect(await ledger()).toEqual(['1', '2', '3']);
    expect(await liveKeys()).toEqual(['beside 1', 'beside 2', 'beside 3', 'replaced', 'taken']);
    expect((await node.delays.find(NAME, 'replaced'))?.payload).toEqual({ n: 1 });
    expect(await node.delays.history(NAME, 'new')).toEqual([]);
  });

  it.each([
    [
      'reschedule',
      (manager: EntityManager) =>
        node.delays.reschedule(NAME, 'mine', { after: '2h' }, { manager }),
      { verdict: 'absent' },
      ['taken'],
    ],
    [
      'cancel',
      (manager: EntityManager) => node.delays.cancel(NAME, 'mine', { manager }),
      { verdict: 'absent' },
      ['taken'],
    ],
    [
      'find',
      (manager: EntityManager) => node.delays.find(NAME, 'mine', { manager }),
      null,
      ['taken'],
    ],
    [
      'schedule',
      (manager: EntityManager) => schedule('mine', manager),
      expect.objectContaining({ verdict: 'scheduled' }),
      ['mine', 'taken'],
    ],
  ])(
    'a %s sees nothing of what a scheduleMany beside it takes back',
    async (_verb, call, answer, left) => {
      await schedule('taken');
      const other = await held('taken');
      const { manager, commit } = await transactions.begin(node.dataSource);
      const many = node.delays.scheduleMany(
        [
          { name: NAME, payload: { n: 2 }, ...LATER, key: 'mine' },
          { name: NAME, payload: { n: 2 }, ...LATER, key: 'taken', onConflict: 'error' },
        ],
        { manager },
      );
      await other.blocksSomebody();
      const beside = call(manager);
      await other.rollback();
      await expect(many).rejects.toMatchObject({ code: 'DELAY_CONFLICT' });
      expect(await beside).toEqual(answer);
      await commit();
      expect(await liveKeys()).toEqual(left);
    },
  );

  it('calls about one key take effect in the order in which they were made', async () => {
    const { manager, commit } = await transactions.begin(node.dataSource);
    const answers = await Promise.all([
      schedule('a', manager),
      node.delays.cancel(NAME, 'a', { manager }),
      node.delays.scheduleMany([{ name: NAME, payload: { n: 2 }, ...LATER, key: 'a' }], {
        manager,
      }),
      schedule('a', manager),
      node.delays.reschedule(NAME, 'a', { after: '2h' }, { manager }),
    ]);
    expect(verdicts(answers.flat())).toEqual([
      'scheduled',
      'cancelled',
      'scheduled',
      'replaced',
      'rescheduled',
    ]);
    await commit();
    expect(await liveKeys()).toEqual(['a']);
  });
});

it('inserts beside a call in a transactional handler are all there', async () => {
  const handler = fencedHandler('test.fenced', async (_delay, { manager }) => {
    const answer = node.delays.cancel(NAME, 'claimed', { manager });
    await claiming.isMet();
    const beside = Promise.all([1, 2, 3, 4, 5, 6].map((entry) => note(manager, entry)));
    await claiming.commit();
    await Promise.all([answer, beside]);
  });
  await start(handler);
  const { id } = await node.delays.schedule(NAME, { n: 1 }, { after: 0, key: 'claimed' });
  const claiming = await transactions.begin(node.dataSource);
  await new OtherNode(claiming.manager).claim(id);
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0 });
  await completed;
  expect(await ledger()).toEqual(['1', '2', '3', '4', '5', '6']);
});

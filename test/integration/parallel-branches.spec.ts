import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ScheduleItem } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { fencedHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import type { OpenTransaction } from '../support/open-transactions.js';
import { OtherNode } from '../support/other-node.js';

/**
 * Branches of one transaction run in parallel on its one connection: their statements land anywhere between
 * those of a call. Nothing of theirs may be undone by it.
 */
const NAME = 'test.a';
const LATER = { after: '1h' } as const;

let inHandler: (manager: EntityManager) => Promise<unknown>;
const handler = fencedHandler('test.fenced', async (_, ctx) => void (await inHandler(ctx.manager)));
const node = new OneNode({ providers: [handler] });

beforeAll(() => node.sql('CREATE TABLE ledger (entry text)'));

afterEach(() => node.sql('TRUNCATE ledger'));

const schedule = (key: string, manager?: EntityManager) =>
  node.delays.schedule(NAME, { n: 1 }, { ...LATER, key, manager });

const item = (key?: string, onConflict?: 'error'): ScheduleItem => ({
  name: NAME,
  payload: { n: 2 },
  ...LATER,
  key,
  onConflict,
});

const note = (manager: EntityManager, entry: string | number): Promise<unknown> =>
  manager.query('INSERT INTO ledger VALUES ($1)', [String(entry)]);

const ledger = async (): Promise<unknown[]> =>
  (await node.sql('SELECT entry FROM ledger ORDER BY 1')).map(({ entry }) => entry);

const liveKeys = async (): Promise<unknown[]> =>
  (await node.sql('SELECT key FROM delay_queue.delay ORDER BY 1')).map(({ key }) => key);

const verdicts = (answers: readonly { verdict: string }[]): string[] =>
  answers.map(({ verdict }) => verdict);

/** Somebody holds the row, uncommitted, as a caller does. */
async function held(key: string): Promise<OpenTransaction> {
  const other = await node.begin();
  await other.manager.query('SELECT FROM delay_queue.delay WHERE key = $1 FOR UPDATE', [key]);
  return other;
}

/** Somebody's claim is on its way. */
async function claiming(key: string): Promise<OpenTransaction> {
  const { id } = await node.delays.schedule(NAME, { n: 1 }, { after: 0, key });
  const claim = await node.begin();
  await new OtherNode(claim.manager).claim(id);
  return claim;
}

type Call = (manager: EntityManager) => Promise<unknown>;
const cancel = (key: string, manager: EntityManager) => node.delays.cancel(NAME, key, { manager });
const reschedule = (key: string, manager: EntityManager) =>
  node.delays.reschedule(NAME, key, { after: '2h' }, { manager });

describe('calls and writes that run in parallel in one transaction', () => {
  it('two cancels, one of which meets a row that somebody cancels: both are true', async () => {
    await schedule('a');
    await schedule('b');
    const other = await node.begin();
    await node.delays.cancel(NAME, 'a', { manager: other.manager });
    const { manager, commit } = await node.begin();
    const first = node.delays.cancel(NAME, 'a', { manager });
    await other.isMet();
    const second = node.delays.cancel(NAME, 'b', { manager });
    await other.commit();
    expect(verdicts(await Promise.all([first, second]))).toEqual(['absent', 'cancelled']);
    await commit();
    expect(await liveKeys()).toEqual([]);
  });

  it.each<[verb: string, call: Call]>([
    ['cancel', (manager) => cancel('order', manager)],
    ['schedule', (manager) => schedule('order', manager)],
    ['reschedule', (manager) => reschedule('order', manager)],
  ])('writes beside a %s that meets a claim and hears `running` stand', async (_verb, call) => {
    const claim = await claiming('order');
    const { manager, commit } = await node.begin();
    await note(manager, 'before');
    const answer = call(manager);
    await claim.isMet();
    const beside = Promise.all([
      ...[1, 2, 3, 4, 5, 6].map((entry) => note(manager, entry)),
      schedule('other', manager),
    ]);
    await claim.commit();
    expect(await answer).toMatchObject({ verdict: 'running' });
    await beside;
    await commit();
    expect(await ledger()).toEqual(['1', '2', '3', '4', '5', '6', 'before']);
    expect(await liveKeys()).toEqual(['order', 'other']);
  });

  it('a scheduleMany that conflicts takes back its own, and nothing of the branches beside it', async () => {
    await schedule('replaced');
    await schedule('taken');
    const other = await held('taken');
    const { manager, commit } = await node.begin();
    const many = node.delays.scheduleMany(
      [item('new'), item('replaced'), item('taken', 'error'), item('z'), item()],
      { manager },
    );
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

  const absent = { verdict: 'absent' };
  const scheduled = expect.objectContaining({ verdict: 'scheduled' });

  it.each<[verb: string, call: Call, answer: unknown, left: string[]]>([
    ['reschedule', (manager) => reschedule('mine', manager), absent, ['taken']],
    ['cancel', (manager) => cancel('mine', manager), absent, ['taken']],
    ['find', (manager) => node.delays.find(NAME, 'mine', { manager }), null, ['taken']],
    ['count', (manager) => node.admin.count({ name: NAME }, { manager }), 1, ['taken']],
    [
      'cancel of what matches',
      (manager) => node.admin.cancel({ name: NAME }, { manager }),
      { matched: 1, cancelled: 1, running: 0 },
      [],
    ],
    ['schedule', (manager) => schedule('mine', manager), scheduled, ['mine', 'taken']],
  ])(
    'a %s sees nothing of what a scheduleMany beside it takes back',
    async (_verb, call, answer, left) => {
      await schedule('taken');
      const other = await held('taken');
      const { manager, commit } = await node.begin();
      const items = [item('mine'), item('taken', 'error')];
      const many = node.delays.scheduleMany(items, { manager });
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
    const { manager, commit } = await node.begin();
    const answers = await Promise.all([
      schedule('a', manager),
      cancel('a', manager),
      node.delays.scheduleMany([item('a')], { manager }),
      schedule('a', manager),
      reschedule('a', manager),
      node.delays.cancelMany([{ name: NAME, key: 'a' }], { manager, running: 'abort' }),
      schedule('a', manager),
      node.delays.cancel(NAME, 'a', { manager, running: 'abort' }),
      schedule('a', manager),
    ]);
    const inTurn = ['scheduled', 'cancelled', 'scheduled', 'replaced', 'rescheduled'];
    inTurn.push('cancelled', 'scheduled', 'cancelled', 'scheduled');
    expect(verdicts(answers.flat())).toEqual(inTurn);
    await commit();
    expect(await liveKeys()).toEqual(['a']);
  });
});

it('inserts beside a call in a transactional handler are all there', async () => {
  const claim = await claiming('claimed');
  inHandler = async (manager) => {
    const answer = cancel('claimed', manager);
    await claim.isMet();
    const beside = Promise.all([1, 2, 3, 4, 5, 6].map((entry) => note(manager, entry)));
    await claim.commit();
    await Promise.all([answer, beside]);
  };
  const completed = node.next('completed');
  await node.delays.schedule('test.fenced', null, { after: 0 });
  await completed;
  expect(await ledger()).toEqual(['1', '2', '3', '4', '5', '6']);
});

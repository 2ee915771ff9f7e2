import { beforeAll, describe, expect, it } from '@jest/globals';
import { type DelayRecord, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';
import { until } from '../support/until.js';

/** Whatever ends a delay, its line of history has its group, its headers, and how its due time was moved. */
const NAME = 'test.told';
const KEY = 'k';
const TARGET = { name: NAME, key: KEY } as const;
const CARRIED = { group: 'customer-7', headers: { trace: 'a' } };
const MOVED = [expect.objectContaining({ call: 'reschedule' })];

describe.each<{ attempts?: boolean }>([{}, { attempts: true }])('history: %j', (history) => {
  let runs: 'test.plain' | 'test.fenced' = 'test.plain';
  const again = () => node.delays.schedule(runs, null, { after: '1h', key: KEY, manager: 'own' });
  const node = new OneNode({
    options: { history, backoff: { base: 1, jitter: 0 } },
    providers: [
      plainHandler('test.plain', async ({ payload }) => {
        if (payload === 'again') await again();
        if (payload === 'discard') throw new DiscardDelay('no');
      }),
      fencedHandler('test.fenced', async ({ payload, name, key }, { manager }) => {
        if (payload === 'again') {
          await node.delays.schedule(name, null, { after: '1h', key: key!, manager });
        }
      }),
      plainHandler('test.recurs', () => {}),
      plainHandler('test.dies', () => Promise.reject(new Error('no')), { maxAttempts: 1 }),
    ],
  });
  let other: OtherNode;

  beforeAll(() => {
    const kept = history.attempts === true ? 'attempts' : 'ends';
    other = new OtherNode(node.dataSource, 'other', { kept });
  });

  /** Scheduled for later and moved to now, or for later. */
  const moved = async (name: `test.${string}`, payload: string | null, to: 0 | '2h', more = {}) => {
    const { id } = await node.delays.schedule(name, payload, {
      after: '1h',
      key: KEY,
      ...CARRIED,
      ...more,
    });
    await node.delays.reschedule(name, KEY, { after: to });
    return id;
  };
  const line = async (name: `test.${string}`): Promise<DelayRecord> => {
    const lines = await until(
      () => node.delays.history(name, KEY),
      ({ length }) => length > 0,
    );
    return lines.at(-1)!;
  };

  it.each<
    [what: string, state: string, name: `test.${string}`, payload: string | null, more: object]
  >([
    ['a plain attempt', 'completed', 'test.plain', null, {}],
    ['a transactional one', 'completed', 'test.fenced', null, {}],
    ['a plain one that schedules its own key', 'superseded', 'test.plain', 'again', {}],
    ['a transactional one that does', 'superseded', 'test.fenced', 'again', {}],
    ['an occurrence', 'completed', 'test.recurs', null, { repeat: { every: '1h' } }],
    ['one that failed for good', 'discarded', 'test.dies', null, { repeat: { every: '1h' } }],
  ])('%s: %s', async (_, state, name, payload, more) => {
    runs = name as typeof runs;
    await moved(name, payload, 0, more);
    expect(await line(name)).toMatchObject({ state, ...CARRIED, moveLog: MOVED });
  });

  const FILTER = { name: NAME } as const;

  it.each<[string, () => Promise<unknown>]>([
    ['cancel', () => node.delays.cancel(NAME, KEY)],
    [
      "cancel in a caller's transaction",
      () => node.dataSource.transaction((manager) => node.delays.cancel(NAME, KEY, { manager })),
    ],
    ['cancelMany', () => node.delays.cancelMany([TARGET])],
    [
      'cancelMany of an id',
      async () => node.delays.cancelMany([{ id: (await node.delays.find(NAME, KEY))!.id }]),
    ],
    ['cancel of a filter', () => node.admin.cancel(FILTER)],
  ])('%s', async (_, cancel) => {
    await moved(NAME, null, '2h');
    await cancel();
    expect(await line(NAME)).toMatchObject({ state: 'cancelled', ...CARRIED, moveLog: MOVED });
    // One whose process died is leased, and found by another part of the statement.
    await node.sql('TRUNCATE delay_queue.history');
    await other.claimAndDie(await moved(NAME, null, 0));
    await cancel();
    expect(await line(NAME)).toMatchObject({ state: 'cancelled', ...CARRIED, moveLog: MOVED });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['discardDead', () => node.admin.discardDead([TARGET])],
    ['discardDead of a filter', () => node.admin.discardDead(FILTER)],
    ['cancel', () => node.delays.cancel(NAME, KEY)],
    ['schedule', () => node.delays.schedule(NAME, null, { after: '1h', key: KEY })],
    [
      'schedule of what recurs',
      () => node.delays.schedule(NAME, null, { repeat: { every: '1h' }, key: KEY }),
    ],
    ['scheduleMany', () => node.delays.scheduleMany([{ ...TARGET, payload: null, after: '1h' }])],
  ])('a dead letter, by %s', async (_, end) => {
    await other.claimAndFail(await moved(NAME, null, 0), null);
    await end();
    expect(await line(NAME)).toMatchObject({ state: 'discarded', ...CARRIED, moveLog: MOVED });
    expect((await node.delays.find(NAME, KEY))?.moveLog ?? []).toEqual([]);
  });
});

describe('a move of the due time', () => {
  let postpones = 0;
  const node = new OneNode({
    providers: [
      plainHandler('test.postponed', () => {
        postpones += 1;
        if (postpones < 3) throw new PostponeDelay(1);
      }),
    ],
  });
  const dueAt = async () => (await node.delays.find(NAME, KEY))!.dueAt;
  const log = async () => (await node.delays.find(NAME, KEY))!.moveLog;

  it.each<[call: string, move: () => Promise<unknown>]>([
    ['reschedule', () => node.delays.reschedule(NAME, KEY, { extendBy: '30m' })],
    ['reschedule', () => node.delays.rescheduleMany([TARGET], { after: '3h' })],
    ['reschedule', () => node.admin.reschedule({ name: NAME }, { at: new Date('2050-01-01') })],
    [
      'reschedule',
      () =>
        node.dataSource.transaction((manager) =>
          node.delays.reschedule(NAME, KEY, { extendBy: '1ms' }, { manager }),
        ),
    ],
    ['runNow', () => node.admin.runNow([TARGET])],
    ['runNow', () => node.admin.runNow({ name: NAME })],
  ])('by %s is told: from when, to when, and when that was', async (call, move) => {
    await node.delays.schedule(NAME, null, { after: '1h', key: KEY });
    const from = await dueAt();
    await move();
    expect(await log()).toEqual([
      { call, from, to: await dueAt(), at: expect.any(Date), by: null },
    ]);
    const { createdAt, moveLog } = (await node.delays.find(NAME, KEY))!;
    expect(Number(moveLog[0]!.at)).toBeGreaterThanOrEqual(Number(createdAt) - 1);
    await move();
    expect((await log()).map(({ call: by }) => by)).toEqual([call, call]);
    expect((await log())[1]!.from).toEqual((await log())[0]!.to);
  });

  it.each([
    ['one', () => node.delays.retryDead(NAME, KEY)],
    ['a list', () => node.admin.retryDead([TARGET])],
  ])('of a dead letter, by retryDead of %s', async (_, retry) => {
    const { id, dueAt: from } = await node.delays.schedule(NAME, null, { after: 0, key: KEY });
    await new OtherNode(node.dataSource).claimAndFail(id, null);
    await retry();
    expect(await log()).toMatchObject([{ call: 'retryDead', from, to: await dueAt() }]);
  });

  it('by its handler is told with the line of its end', async () => {
    const ended = node.next('completed');
    await node.delays.schedule('test.postponed', null, { after: 0, key: KEY });
    await ended;
    const [line] = await node.delays.history('test.postponed', KEY);
    expect(line?.moveLog.map(({ call }) => call)).toEqual(['postpone', 'postpone']);
    expect(line?.moveLog.at(-1)?.to).toEqual(line?.dueAt);
  });

  it('keeps the last 20; an attempt that failed adds none, and a replace begins anew', async () => {
    const { id } = await node.delays.schedule(NAME, null, { after: 0, key: KEY });
    await new OtherNode(node.dataSource).claimAndFail(id, 0);
    expect(await log()).toEqual([]);
    for (let n = 1; n <= 23; n += 1) await node.delays.reschedule(NAME, KEY, { extendBy: n });
    const spans = (await log()).map(({ from, to }) => Number(to) - Number(from));
    expect(spans).toEqual(Array.from({ length: 20 }, (_, n) => n + 4));
    await node.delays.schedule(NAME, null, { after: '1h', key: KEY });
    expect(await log()).toEqual([]);
  });
});

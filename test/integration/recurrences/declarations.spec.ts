import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import type { DelayInfo } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler, signal } from '../../support/delay-node.js';
import { OpenTransactions } from '../../support/open-transactions.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.declared';
const HOURLY = { every: '1h' } as const;
const EACH_2H = { every: 7_200_000, catchUp: 'latest' };
const TOKYO = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo', catchUp: 'each' } as const;

let stage: Stage;

const start = (repeats: Repeats[], of: Type = plainHandler(NAME, () => {})): Promise<DelayNode> =>
  stage.start({ providers: [repeated(of, NAME, ...repeats)] });

const hourly = (...keys: string[]): Repeats[] => keys.map((key) => ({ ...HOURLY, key }));

const find = (node: DelayNode, key: string): Promise<DelayInfo | null> =>
  node.delays.find(NAME, key);

describe('what stood before, when another deploy starts', () => {
  const KEYS = ['same', 'cancelled', 'rhythm', 'payload', 'due', 'gone', 'dead', 'waiting'];
  const ran: Date[] = [];
  const before = new Map<string, DelayInfo | null>();
  const besideOthers = new Map<string, DelayInfo | null>();
  let node: DelayNode;

  beforeAll(async () => {
    stage = await Stage.open();
    const producer = await stage.start({ options: { worker: false } });
    for (const key of ['waiting', 'by hand']) {
      await producer.delays.schedule(NAME, 'by hand', { after: '90d', key });
    }
    const first = await start(hourly(...KEYS.slice(0, -1)));
    await producer.delays.cancel(NAME, 'cancelled');
    await first.stop();
    await stage.sql(
      `UPDATE delay_queue.delay SET due_at = due_at - interval '61 min', wake_at = due_at - interval '61 min'
       WHERE key = 'due';
       UPDATE delay_queue.delay SET wake_at = 'infinity', repeat = '{"cron": "?!", "declared": true}'
       WHERE key = 'dead'`,
    );
    for (const key of KEYS) before.set(key, await find(producer, key));
    const other = await stage.start({ providers: [plainHandler('test.other', () => {})] });
    const handler = { providers: [plainHandler(NAME, () => {})], options: { worker: false } };
    await stage.start(handler);
    for (const key of KEYS) besideOthers.set(key, await find(other, key));
    node = await start(
      [
        ...hourly('same', 'cancelled', 'dead', 'waiting'),
        { ...TOKYO, key: 'rhythm' },
        { ...HOURLY, payload: { n: 2 }, key: 'payload' },
        { every: '2h', key: 'due' },
      ],
      plainHandler(NAME, ({ dueAt }) => void ran.push(dueAt)),
    );
  });

  afterAll(() => stage.close());

  it('is no matter of a node that does not serve it, or only schedules', () => {
    expect(besideOthers).toEqual(before);
  });

  it('is left alone as long as it is declared so', async () => {
    expect(before.get('same')).toMatchObject({
      state: 'scheduled',
      payload: null,
      repeat: { every: 3_600_000, catchUp: 'latest' },
    });
    expect(await find(node, 'same')).toEqual(before.get('same'));
  });

  it('is due when the new way says, if it recurs in another one', async () => {
    const changed = await find(node, 'rhythm');
    expect(changed).toMatchObject({ id: before.get('rhythm')?.id, repeat: TOKYO });
    expect(changed?.dueAt.toISOString()).toMatch(/T18:00:00.000Z$/);
  });

  it('has its due time with another payload, too', async () => {
    expect(await find(node, 'payload')).toEqual({ ...before.get('payload'), payload: { n: 2 } });
  });

  it('still runs where it is due already, and goes on in the new way', async () => {
    const dueMs = before.get('due')!.dueAt.getTime();
    await until(
      () => find(node, 'due'),
      (delay) => delay?.state === 'scheduled' && delay.dueAt.getTime() === dueMs + 7_200_000,
    );
    expect(ran).toEqual([new Date(dueMs)]);
  });

  it('goes if it is declared no longer, and leaves a line in history', async () => {
    expect(before.get('gone')).not.toBeNull();
    expect(await find(node, 'gone')).toBeNull();
    expect(await node.delays.history(NAME, 'gone')).toMatchObject([{ state: 'cancelled' }]);
    expect(await find(node, 'by hand')).toMatchObject({ repeat: null });
  });

  it.each([
    ['cancelled', undefined],
    ['dead', 'dead'],
    ['waiting', 'scheduled'],
  ])('recurs from now on: %s', async (key, state) => {
    expect(before.get(key)?.state).toBe(state);
    const stands = await find(node, key);
    expect(stands).toMatchObject({ state: 'scheduled', payload: null });
    expect(stands?.repeat).toEqual({ every: 3_600_000, catchUp: 'latest' });
    expect(stands!.dueAt.getTime()).toBeLessThan(Date.now() + 2 * 3_600_000);
  });
});

describe('beside what goes on', () => {
  const transactions = new OpenTransactions();

  beforeEach(async () => {
    stage = await Stage.open();
  });

  afterEach(async () => {
    await transactions.rollbackAll();
    await stage.close();
  });

  it('a run that is under way ends first, and then the new way counts', async () => {
    const [begun, go] = [signal(), signal()];
    const slow = plainHandler(NAME, async () => {
      begun.resolve();
      await go.promise;
    });
    const old = await start(hourly('repeat', 'old'), slow);
    await old.admin.runNow(['repeat', 'old'].map((key) => ({ name: NAME, key })));
    await begun.promise;
    const node = await start([{ every: '2h' }]);
    expect(await find(node, 'repeat')).toMatchObject({
      state: 'running',
      repeat: { every: 3_600_000 },
    });
    go.resolve();
    await until(
      () => node.admin.list({}),
      (delays) =>
        isDeepStrictEqual(
          delays.map(({ repeat }) => repeat),
          [EACH_2H],
        ),
    );
  });

  it('a key that somebody else inserts keeps no node from its start', async () => {
    const producer = await stage.start({ options: { worker: false } });
    const { manager, commit } = await transactions.begin(producer.dataSource);
    await producer.delays.schedule(NAME, null, { after: '9d', key: 'repeat', manager });
    const node = await start([HOURLY]);
    expect(await find(node, 'repeat')).toBeNull();
    await commit();
    await until(
      () => find(node, 'repeat'),
      (delay) => delay?.repeat !== null,
    );
  });
});

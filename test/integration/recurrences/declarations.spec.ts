import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { DelayInfo } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler, signal } from '../../support/delay-node.js';
import { type Repeats, repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.declared';
const HOURLY = { every: '1h' } as const;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const handler = (run: () => Promise<void> | void = () => {}): Type => plainHandler(NAME, run);

const start = (repeats: Repeats[], of = handler()): Promise<DelayNode> =>
  stage.start({ providers: [repeated(of, NAME, ...repeats)] });

const find = (node: DelayNode, key = 'repeat'): Promise<DelayInfo | null> =>
  node.delays.find(NAME, key);

async function redeploy(node: DelayNode, ...repeats: Repeats[]): Promise<DelayNode> {
  await node.stop();
  return start(repeats);
}

describe('at the start', () => {
  it('of many nodes at once what they declare stands once', async () => {
    const nodes = await Promise.all(
      Array.from({ length: 4 }, () => start([HOURLY, { ...HOURLY, key: 'other' }])),
    );
    const rows = await until(
      () => nodes[0]!.admin.list({ repeating: true }),
      ({ length }) => length > 1,
    );
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(['other', 'repeat']));
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ name: NAME, state: 'scheduled', payload: null });
    expect(rows[0]?.repeat).toEqual({ every: 3_600_000, catchUp: 'latest' });
    expect(await nodes[0]!.admin.count({ repeating: false })).toBe(0);
  });

  it('what stands as declared is left alone', async () => {
    const first = await start([HOURLY]);
    const before = await find(first);
    const after = await find(await redeploy(first, HOURLY));
    expect(after).toEqual(before);
  });

  it('what was cancelled stands again', async () => {
    const first = await start([HOURLY]);
    expect(await first.delays.cancel(NAME, 'repeat')).toMatchObject({ verdict: 'cancelled' });
    expect(await find(first)).toBeNull();
    expect(await find(await redeploy(first, HOURLY))).not.toBeNull();
  });

  it('what recurs in another way is due when the new way says', async () => {
    const first = await start([HOURLY]);
    const before = await find(first);
    const cron = { cron: '0 3 * * *', timeZone: 'Asia/Tokyo', catchUp: 'each' } as const;
    const after = await find(await redeploy(first, cron));
    expect(after).toMatchObject({ id: before?.id, repeat: cron });
    expect(after?.dueAt.toISOString()).toMatch(/T18:00:00.000Z$/);
  });

  it('another payload leaves the due time as it is', async () => {
    const first = await start([HOURLY]);
    const before = await find(first);
    const after = await find(await redeploy(first, { ...HOURLY, payload: { n: 2 } }));
    expect(after).toEqual({ ...before, payload: { n: 2 } });
  });

  it('what is due already still runs, and goes on in the new way', async () => {
    const first = await start([HOURLY]);
    await first.stop();
    await stage.sql(
      `UPDATE delay_queue.delay SET due_at = due_at - interval '61 min', wake_at = due_at - interval '61 min'`,
    );
    const ran: Date[] = [];
    const node = await start(
      [{ every: '2h' }],
      plainHandler(NAME, ({ dueAt }) => void ran.push(dueAt)),
    );
    const after = await until(
      () => find(node),
      (delay) => ran.length > 0 && delay!.dueAt > ran[0]! && delay!.state === 'scheduled',
    );
    expect(after!.dueAt.getTime() - ran[0]!.getTime()).toBe(7_200_000);
  });

  it('what is declared no longer goes, and leaves a line in history', async () => {
    const first = await start([HOURLY, { ...HOURLY, key: 'old' }]);
    await first.delays.schedule(NAME, 1, { after: '1h', key: 'by-hand' });
    const node = await redeploy(first, HOURLY);
    expect(await find(node, 'old')).toBeNull();
    expect(await node.delays.history(NAME, 'old')).toMatchObject([{ state: 'cancelled' }]);
    expect(await find(node)).not.toBeNull();
    expect(await find(node, 'by-hand')).toMatchObject({ repeat: null });
  });

  it('a node leaves alone what it does not serve, and one that only schedules leaves all', async () => {
    const first = await start([HOURLY]);
    await first.stop();
    const other = await stage.start({ providers: [plainHandler('test.other', () => {})] });
    await stage.start({ providers: [handler()], options: { worker: false } });
    expect(await find(other)).not.toBeNull();
    const stats = await other.admin.stats();
    expect(stats.names).toContainEqual(
      expect.objectContaining({ name: NAME, scheduled: 1, nodes: 0 }),
    );
  });

  it('a waiting delay of that key begins to recur', async () => {
    const producer = await stage.start({ options: { worker: false } });
    await producer.delays.schedule(NAME, 'by hand', { after: '90d', key: 'repeat' });
    const after = await find(await start([HOURLY]));
    expect(after).toMatchObject({ payload: null, repeat: { every: 3_600_000 } });
    expect(after!.dueAt.getTime()).toBeLessThan(Date.now() + 2 * 3_600_000);
  });
});

describe('beside what goes on', () => {
  it('a run that is under way ends first, and then the new way counts', async () => {
    const [begun, go] = [signal(), signal()];
    const old = await start(
      [HOURLY, { ...HOURLY, key: 'old' }],
      handler(async () => {
        begun.resolve();
        await go.promise;
      }),
    );
    await old.admin.runNow([
      { name: NAME, key: 'repeat' },
      { name: NAME, key: 'old' },
    ]);
    await begun.promise;
    const node = await start([{ every: '2h' }]);
    expect(await find(node)).toMatchObject({ state: 'running', repeat: { every: 3_600_000 } });
    go.resolve();
    await until(
      () => Promise.all([find(node), find(node, 'old')]),
      ([changed, gone]) =>
        gone === null &&
        changed?.repeat !== null &&
        JSON.stringify(changed?.repeat).includes('7200000'),
    );
  });

  it('a key that somebody else inserts keeps no node from its start', async () => {
    const producer = await stage.start({ options: { worker: false } });
    const runner = producer.dataSource.createQueryRunner();
    await runner.startTransaction();
    try {
      const options = { after: '9d', key: 'repeat', manager: runner.manager } as const;
      await producer.delays.schedule(NAME, null, options);
      const node = await start([HOURLY]);
      expect(await find(node)).toBeNull();
      await runner.commitTransaction();
      await until(
        () => find(node),
        (delay) => delay?.repeat !== null,
      );
    } finally {
      await runner.release();
    }
  });
});

describe('a caller', () => {
  it('may reschedule it and change its payload, and it recurs all the same', async () => {
    const node = await start([HOURLY]);
    const before = await find(node);
    await node.delays.schedule(NAME, { n: 7 }, { after: '9d', key: 'repeat' });
    expect(await find(node)).toMatchObject({ payload: { n: 7 }, repeat: before?.repeat });
    await node.delays.reschedule(NAME, 'repeat', { after: 0 });
    const after = await until(
      () => find(node),
      (delay) => delay?.dueAt.getTime() === before?.dueAt.getTime(),
    );
    expect(after).toMatchObject({ payload: { n: 7 } });
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { DelayContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  signal,
  startNode,
} from '../support/delay-node.js';
import { OtherNode, runnerOn } from '../support/other-node.js';

/** A delay that recurs each second raises its epoch twice a second: in 70 years to 4.4 thousand million. */
const EPOCH = 70 * 366 * 86_400 * 2;

const NAMES = { plain: 'test.plain', fenced: 'test.fenced', idle: 'test.idle' } as const;
const KEY = 'k';

let database: TestDatabase;
let node: DelayNode;
let other: OtherNode;
/** What the handlers do next. */
let work: (manager?: EntityManager) => Promise<unknown> | void;

const run = async (
  _delay: unknown,
  ctx: DelayContext & { manager?: EntityManager },
): Promise<void> => void (await work(ctx.manager));

beforeAll(async () => {
  database = await createTestDatabase();
  const providers = [plainHandler(NAMES.plain, run), fencedHandler(NAMES.fenced, run)];
  node = await startNode({ url: database.url, providers });
  other = new OtherNode(node.dataSource);
});

afterEach(() => node.dataSource.query('TRUNCATE delay_queue.delay, delay_queue.history'));

afterAll(async () => {
  await node.stop();
  await database.drop();
});

/** One that has recurred for so long, and is due in an hour. */
async function old(name: (typeof NAMES)[keyof typeof NAMES]): Promise<string> {
  work = () => {};
  const { id } = await node.delays.schedule(name, null, { after: '1h', key: KEY });
  await node.dataSource.query('UPDATE delay_queue.delay SET epoch = $1', [EPOCH]);
  return id;
}

const written = async (table: 'delay' | 'history'): Promise<number[]> => {
  const rows: { epoch: string }[] = await node.dataSource.query(
    `SELECT epoch::text FROM delay_queue.${table} ORDER BY epoch`,
  );
  return rows.map(({ epoch }) => Number(epoch));
};

describe('beyond 32 bits', () => {
  it.each([NAMES.plain, NAMES.fenced])('%s: moved, hinted, claimed and completed', async (name) => {
    await old(name);
    const completed = node.next('completed');
    expect(await node.delays.reschedule(name, KEY, { after: 0 })).toMatchObject({
      verdict: 'rescheduled',
    });
    await completed;
    expect(await written('history')).toEqual([EPOCH + 2]);
  });

  it.each([NAMES.plain, NAMES.fenced])('%s: moves itself on', async (name) => {
    await old(name);
    work = (manager) => node.delays.schedule(name, null, { after: '1h', key: KEY, manager });
    const superseded = node.next('superseded');
    await node.delays.reschedule(name, KEY, { after: 0 });
    await superseded;
    expect(await written('history')).toEqual([EPOCH + 2]);
    expect(await written('delay')).toEqual([EPOCH + 3]);
  });

  it('an attempt that cancels its own key is told that it runs', async () => {
    await old(NAMES.plain);
    const told = signal<unknown>();
    work = async () => told.resolve(await node.delays.cancel(NAMES.plain, KEY));
    const completed = node.next('completed');
    await node.delays.reschedule(NAMES.plain, KEY, { after: 0 });
    expect(await told.promise).toMatchObject({ verdict: 'running' });
    await completed;
  });

  it('replaced and cancelled', async () => {
    await old(NAMES.idle);
    const again = { after: '1h', key: KEY } as const;
    expect(await node.delays.schedule(NAMES.idle, null, again)).toMatchObject({
      verdict: 'replaced',
    });
    expect(await node.delays.cancel(NAMES.idle, KEY)).toMatchObject({ verdict: 'cancelled' });
    expect(await written('history')).toEqual([EPOCH + 1]);
  });

  it('fenced: who has the epoch renews and holds it, who had it changes nothing', async () => {
    const id = await old(NAMES.idle);
    await node.dataSource.query('UPDATE delay_queue.delay SET wake_at = now()');
    const { epoch } = await other.claim(id);
    const [own, past] = [epoch, epoch - 1].map((of) => ({ id: Number(id), epoch: of }));
    expect(epoch).toBe(EPOCH + 1);
    expect(await other.store.renew([past!], 60_000)).toEqual([]);
    expect(await other.store.renew([own!], 60_000)).toEqual([Number(id)]);
    await node.dataSource.transaction(async (manager) => {
      const fence = await other.store.fence(runnerOn(manager), [own!, past!], 60_000);
      expect(fence.ids).toEqual([Number(id)]);
    });
    expect(await other.store.complete([{ ...past!, latenessMs: 0 }])).toEqual([]);
    expect(await written('delay')).toEqual([EPOCH + 1]);
  });

  it('given back, failed for good, and tried again', async () => {
    const id = await old(NAMES.idle);
    await node.dataSource.query('UPDATE delay_queue.delay SET wake_at = now()');
    await other.claimAndFail(id, 0);
    await other.claimAndFail(id, null);
    expect(await written('delay')).toEqual([EPOCH + 4]);
    expect(await node.delays.retryDead(NAMES.idle, KEY)).toMatchObject({ verdict: 'retried' });
    const { epoch } = await other.claimAndDie(id);
    const request = { id: Number(id), epoch, leaseMs: 0, maxAttempts: 1 };
    expect(await other.store.deadLetter([request], 'none left')).toHaveLength(1);
    expect(await written('delay')).toEqual([epoch + 1]);
  });
});

it('a hint of a stranger with the largest epoch there is fails no claim', async () => {
  const troubles: unknown[] = [];
  node.events.on('trouble', (trouble) => troubles.push(trouble));
  work = () => {};
  const { id } = await node.delays.schedule(NAMES.plain, null, { after: '1h', key: KEY });
  const wakes = [[Number(id), Number.MAX_SAFE_INTEGER, NAMES.plain, Date.now()]];
  const hint = `w${JSON.stringify(wakes)}`;
  await node.dataSource.query('SELECT pg_notify($1, $2)', ['delay_queue', hint]);
  const completed = node.next('completed', ({ id: of }) => of !== id);
  await node.delays.schedule(NAMES.plain, null, { after: 0 });
  await completed;
  expect(troubles).toEqual([]);
});

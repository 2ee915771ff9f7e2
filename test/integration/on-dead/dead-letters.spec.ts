import { describe, expect, it } from '@jest/globals';
import { DelayTimeoutError, DiscardDelay } from 'nestjs-delay-queue';
import {
  batchHandler,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  signal,
} from '../../support/delay-node.js';
import { OtherNode } from '../../support/other-node.js';
import { fails, KEY, Mortal, NAME, note, schedule } from './support/mortal.js';

const mortal = new Mortal();

const once = { maxAttempts: 1 };
const no = (): Promise<void> => Promise.reject(new Error('no'));

describe('a delay that becomes a dead letter', () => {
  it.each([
    ['of a plain handler', () => plainHandler(NAME, no, once)],
    ['of a transactional handler', () => fencedHandler(NAME, no, once)],
    ['of a batch', () => batchHandler(NAME, no, { ...once, batch: 5 })],
    [
      'of a transactional batch',
      () =>
        fencedBatchHandler(
          NAME,
          ([delay], { fail }) => {
            fail(delay!, new Error('no'));
          },
          { ...once, batch: 5 },
        ),
    ],
  ])('%s: the method is called once, and its effects commit with that', async (_, handler) => {
    const calls: unknown[] = [];
    const node = await mortal.start(async (delay, ctx) => {
      const { error, cause } = ctx;
      calls.push({ ...delay, error, cause });
      await note(delay, ctx);
    }, handler());
    const dead = node.next('dead');
    const { id } = await schedule(node);
    const told = await dead;
    expect(told).toMatchObject({ id, key: KEY, attempt: 1, error: 'Error: no' });
    expect(told.cause).toMatchObject({ message: 'no' });
    expect(calls).toEqual([
      expect.objectContaining({
        id,
        key: KEY,
        payload: { n: 1 },
        attempt: 1,
        maxAttempts: 1,
        error: 'Error: no',
        cause: told.cause,
      }),
    ]);
    expect(await mortal.effects()).toEqual([{ key: KEY, error: 'Error: no' }]);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({
      state: 'dead',
      attempts: 1,
      lastError: 'Error: no',
    });
  });

  it('by DiscardDelay, with attempts left', async () => {
    const handler = plainHandler(NAME, () => Promise.reject(new DiscardDelay('not wanted')));
    const node = await mortal.start(note, handler);
    const dead = node.next('dead');
    await schedule(node);
    await dead;
    expect(await mortal.effects()).toEqual([{ key: KEY, error: 'not wanted' }]);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ state: 'dead', attempts: 1 });
    expect(await node.delays.retryDead(NAME, KEY)).toMatchObject({ verdict: 'retried' });
  });

  it('by its timeout, whose transaction still holds the row', async () => {
    const never = signal();
    const handler = fencedHandler(NAME, () => never.promise, { maxAttempts: 1, timeout: 100 });
    const causes: unknown[] = [];
    const node = await mortal.start(async (delay, ctx) => {
      // Its time is as short as the handler's: on a busy machine it is called again, and without the cause.
      causes.push(ctx.cause);
      await note(delay, ctx);
    }, handler);
    const dead = node.next('dead');
    await schedule(node);
    await dead;
    expect(causes[0]).toBeInstanceOf(DelayTimeoutError);
    expect(await mortal.effects()).toMatchObject([{ key: KEY }]);
    never.resolve();
  });

  it('because its process died at the last attempt', async () => {
    const node = await mortal.stage.start({ options: { worker: false } });
    const { id } = await schedule(node);
    await new OtherNode(node.dataSource).claimAndDie(id);
    await mortal.start(
      note,
      plainHandler(NAME, () => {}, { maxAttempts: 1 }),
    );
    await mortal.dead(1);
    expect(await mortal.effects()).toEqual([
      { key: KEY, error: expect.stringContaining('no attempt is left') },
    ]);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ attempts: 1 });
  });

  it('whose process died while the method ran', async () => {
    const node = await mortal.stage.start({ options: { worker: false } });
    const { id } = await schedule(node);
    const other = new OtherNode(node.dataSource);
    const { epoch } = await other.claimAndDie(id);
    const request = { id: Number(id), epoch, leaseMs: 0, maxAttempts: 1 };
    expect(await other.store.claimDying(request, true)).toMatchObject({ attempts: 1 });
    await mortal.start(
      note,
      plainHandler(NAME, () => {}, { maxAttempts: 1 }),
    );
    await mortal.dead(1);
    expect(await mortal.effects()).toHaveLength(1);
  });

  it('on whose session the method is ended: it is called again', async () => {
    let calls = 0;
    const node = await mortal.start(async (delay, ctx) => {
      calls += 1;
      await note(delay, ctx);
      if (calls > 1) return;
      const [row] = await ctx.manager.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
      await mortal.stage.sql('SELECT pg_terminate_backend($1)', [row!.pid]);
      await ctx.manager.query('SELECT 1');
    }, fails());
    const dead = node.next('dead');
    await schedule(node);
    await dead;
    expect(calls).toBe(2);
    expect(await mortal.effects()).toHaveLength(1);
  });

  it('with very many at a time, in a pool that is small', async () => {
    const node = await mortal.start(note, fails({ concurrency: 50 }), 3);
    const keys = Array.from({ length: 200 }, (_, n) => `k${n}`);
    await node.delays.scheduleMany(
      keys.map((key) => ({ name: NAME, payload: null, key, after: 0 })),
    );
    await mortal.dead(keys.length);
    expect((await mortal.effects()).map(({ key }) => key)).toEqual(keys.toSorted());
  });

  it('or not: its method may schedule the key again, and the row lives on', async () => {
    const node = await mortal.start(async (delay, ctx) => {
      await note(delay, ctx);
      const { verdict } = await node.delays.schedule(
        NAME,
        { n: 2 },
        {
          after: '7d',
          key: KEY,
          manager: ctx.manager,
        },
      );
      expect(verdict).toBe('scheduled');
    }, fails());
    const superseded = node.next('superseded');
    const { id } = await schedule(node);
    expect(await superseded).toMatchObject({ id });
    expect(await node.delays.find(NAME, KEY)).toMatchObject({
      id,
      state: 'scheduled',
      payload: { n: 2 },
    });
    expect(await mortal.effects()).toHaveLength(1);
  });
});

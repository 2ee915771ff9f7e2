import { describe, expect, it } from '@jest/globals';
import { DelayTimeoutError, DiscardDelay } from 'nestjs-delay-queue';
import { NAMES } from '../../support/acting-node.js';
import { signal } from '../../support/delay-node.js';
import type { Json } from '../../support/delay-payloads.js';
import { KEY, Mortal, note, SHORT } from './support/mortal.js';

let fits = true;

const node = new Mortal({
  poolMax: 3,
  options: {
    payloads: {
      [NAMES.plain]: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value: unknown) =>
            fits ? { value: value as Json } : { issues: [{ message: 'no longer' }] },
        },
      },
    },
  },
});

describe('a delay that becomes a dead letter', () => {
  it.each(['plain', 'transactional', 'plain batch', 'transactional batch'] as const)(
    'of a %s handler: the method is called once, and its effects commit with that',
    async (kind) => {
      const calls: unknown[] = [];
      node.gaveUp = async (delay, ctx) => {
        calls.push({ ...delay, error: ctx.error, cause: ctx.cause });
        await note(delay, ctx);
      };
      const started: unknown[] = [];
      const listener = (event: unknown): void => void started.push(event);
      node.events.on('started', listener);
      const told = await node.dies(NAMES[kind]);
      node.events.off('started', listener);
      expect(told).toMatchObject({ key: KEY, attempt: 1, error: 'Error: no' });
      const { id, cause } = told as { id: string; cause?: unknown };
      expect(cause).toMatchObject({ message: 'no' });
      const payload = { n: 1 };
      const call = { id, key: KEY, payload, attempt: 1, maxAttempts: 1, error: 'Error: no', cause };
      expect(calls).toEqual([expect.objectContaining(call)]);
      // The method is no attempt: nobody hears of a start.
      expect(started).toHaveLength(1);
      expect(await node.effects()).toEqual([{ key: KEY, error: 'Error: no' }]);
      expect(await node.find(kind)).toMatchObject({
        state: 'dead',
        attempts: 1,
        lastError: 'Error: no',
      });
    },
  );

  it('by DiscardDelay, with attempts left', async () => {
    node.handle = () => Promise.reject(new DiscardDelay('not wanted'));
    await node.dies(NAMES.plain, { maxAttempts: 10 });
    expect(await node.effects()).toEqual([{ key: KEY, error: 'not wanted' }]);
    expect(await node.find('plain')).toMatchObject({ state: 'dead', attempts: 1 });
    expect(await node.delays.retryDead(NAMES.plain, KEY)).toMatchObject({ verdict: 'retried' });
  });

  it('by its timeout, whose transaction still holds the row', async () => {
    const never = signal();
    const causes: unknown[] = [];
    node.handle = () => never.promise;
    node.gaveUp = async (delay, ctx) => {
      // Its time is as short as the handler's: on a busy machine it is called again, and without the cause.
      causes.push(ctx.cause);
      await note(delay, ctx);
    };
    await node.dies(SHORT);
    expect(causes[0]).toBeInstanceOf(DelayTimeoutError);
    expect(await node.effects()).toMatchObject([{ key: KEY }]);
    never.resolve();
  });

  it('by its payload, which does not fit its schema any more: the method gets it as it was given', async () => {
    const seen: unknown[] = [];
    node.gaveUp = async (delay, ctx) => {
      seen.push(delay.payload);
      await note(delay, ctx);
    };
    await node.admin.pause(NAMES.plain);
    const dead = node.dies(NAMES.plain);
    await node.until('SELECT FROM delay_queue.delay', ({ length }) => length === 1);
    fits = false;
    await node.admin.resume(NAMES.plain);
    await dead;
    fits = true;
    expect(seen).toEqual([{ n: 1 }]);
    const error: unknown = expect.stringContaining('no longer');
    expect(await node.effects()).toEqual([{ key: KEY, error }]);
    expect(node.attempts).toBe(0);
  });

  it('on whose session the method is ended: it is called again', async () => {
    node.gaveUp = async (delay, ctx) => {
      await note(delay, ctx);
      if (node.calls > 1) return;
      const [row] = await ctx.manager.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
      await node.sql('SELECT pg_terminate_backend($1)', [row!.pid]);
      await ctx.manager.query('SELECT 1');
    };
    await node.dies(NAMES.plain);
    expect(node.calls).toBe(2);
    expect(await node.effects()).toHaveLength(1);
  });

  it('with very many at a time, in a pool that is small', async () => {
    const keys = Array.from({ length: 60 }, (_, n) => `k${n + 10}`);
    const item = { name: NAMES.plain, payload: null, after: 0, maxAttempts: 1 } as const;
    await node.delays.scheduleMany(keys.map((key) => ({ ...item, key })));
    await node.until(
      `SELECT FROM delay_queue.delay WHERE wake_at = 'infinity'`,
      ({ length }) => length === keys.length,
    );
    expect((await node.effects()).map(({ key }) => key)).toEqual(keys);
  });

  it('or not: its method may schedule the key again, and the row lives on', async () => {
    node.gaveUp = async (delay, ctx) => {
      await note(delay, ctx);
      const options = { after: '7d', key: KEY, manager: ctx.manager } as const;
      const { verdict } = await node.delays.schedule(NAMES.plain, { n: 2 }, options);
      expect(verdict).toBe('scheduled');
    };
    const superseded = node.next('superseded');
    const options = { after: 0, key: KEY, maxAttempts: 1 };
    const { id } = await node.delays.schedule(NAMES.plain, { n: 1 }, options);
    expect(await superseded).toMatchObject({ id });
    expect(await node.find('plain')).toMatchObject({ id, state: 'scheduled', payload: { n: 2 } });
    expect(await node.effects()).toHaveLength(1);
  });
});

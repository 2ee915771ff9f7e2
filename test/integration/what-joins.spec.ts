import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { signal } from '../support/delay-node.js';
import { ActingNode, KEY, NAMES } from '../support/acting-node.js';

/** Which transaction a call is part of: the one that it names, and no other. */
const LATER = { after: '1h' } as const;
const ONCE = { maxAttempts: 1 };

const acting = new ActingNode();

const writes = (manager?: EntityManager | 'own') => {
  const { delays } = acting;
  const item = { name: 'test.a', payload: { n: 1 }, ...LATER, key: 'many' } as const;
  return [
    () => delays.schedule('test.a', { n: 1 }, { ...LATER, key: 'one', manager }),
    () => delays.schedule('test.a', { n: 1 }, { ...LATER, manager }),
    () => delays.scheduleMany([item], { manager }),
    () => delays.reschedule('test.a', 'there', LATER, { manager }),
    () => delays.cancel('test.a', 'there', { manager }),
    () => delays.retryDead('test.a', 'dead', { manager }),
  ];
};

/** Undefined of a call that was not refused. */
const errorOf = (call: () => Promise<unknown>): Promise<unknown> =>
  call().then(
    () => undefined,
    (error: unknown) => error,
  );

const refusal = expect.objectContaining({ field: 'manager', code: 'DELAY_INVALID' });

describe.each(['transactional', 'transactional batch'] as const)('in a %s', (kind) => {
  it('a write that does not say which transaction is refused, a read is not', async () => {
    const { answer } = await acting.fire(kind, async () => {
      const errors: unknown[] = [];
      for (const write of writes()) errors.push(await errorOf(write));
      const found = await acting.delays.find(NAMES[kind], KEY);
      return { errors, state: found?.state, states: await acting.states(kind) };
    });
    expect(answer.errors).toHaveLength(6);
    for (const error of answer.errors) {
      expect(error).toBeInstanceOf(DelayInvalidError);
      expect(error).toEqual(refusal);
      expect(String(error)).toMatch(/ctx\.manager.*'own'/);
    }
    expect(answer).toMatchObject({ state: 'running', states: [] });
  });

  it("`manager: 'own'`, or the pool's, is committed whatever becomes of the handler, ctx.manager is not", async () => {
    const { delays } = acting;
    const { end } = await acting.fire(
      kind,
      async ({ manager }) => {
        const item = { name: 'test.a', payload: { n: 1 }, ...LATER } as const;
        const schedule = (key: string, its: EntityManager | 'own' | undefined) =>
          delays.schedule('test.a', { n: 1 }, { ...LATER, key, manager: its });
        await schedule('own', 'own');
        await delays.scheduleMany([{ ...item, key: 'own many' }], { manager: 'own' });
        await schedule("pool's", acting.dataSource.manager);
        await schedule('joined', manager);
        throw new Error('after the writes');
      },
      ONCE,
    );
    expect(end.event).toBe('dead');
    expect(await delays.find('test.a', 'joined')).toBeNull();
    for (const key of ['own', 'own many', "pool's"]) {
      expect(await delays.find('test.a', key)).toMatchObject({ state: 'scheduled' });
    }
  });

  it('its manager is refused once the handler has ended, and its context means nothing', async () => {
    const goOn = signal();
    let late: Promise<unknown[]> | undefined;
    await acting.fire(kind, ({ manager }) => {
      late = goOn.promise.then(async () => {
        const refused = await Promise.all(writes(manager).map(errorOf));
        return [...refused, ...(await Promise.all(writes().map(errorOf)))];
      });
    });
    goOn.resolve();
    expect(await late).toEqual([...Array(6).fill(refusal), ...Array(6).fill(undefined)]);
    expect(await acting.delays.find('test.a', 'one')).toMatchObject({ state: 'scheduled' });
  });
});

it("'own', and the manager of the pool, are what is meant without a manager", async () => {
  const { delays, dataSource } = acting;
  for (const manager of ['own', dataSource.manager] as const) {
    const options = { ...LATER, key: KEY, manager };
    const scheduled = { verdict: 'scheduled' };
    expect(await delays.schedule('test.a', { n: 1 }, options)).toMatchObject(scheduled);
    expect(await delays.find('test.a', KEY, { manager })).toMatchObject({ state: 'scheduled' });
    const cancelled = { verdict: 'cancelled' };
    expect(await delays.cancel('test.a', KEY, { manager })).toMatchObject(cancelled);
    expect(await delays.history('test.a', KEY, { manager })).not.toEqual([]);
  }
  expect(await delays.history('test.a', KEY)).toHaveLength(2);
});

it('the manager of a runner that was released is refused', async () => {
  const runner = acting.dataSource.createQueryRunner();
  await runner.connect();
  await runner.release();
  const call = acting.delays.cancel('test.a', KEY, { manager: runner.manager });
  await expect(call).rejects.toEqual(refusal);
});

it("a plain handler needs not say anything, and 'own' means its own row as well", async () => {
  const { delays } = acting;
  const { answer, end } = await acting.fire('plain', async () => [
    await delays.schedule('test.a', { n: 1 }, LATER),
    await delays.schedule(NAMES.plain, 'again', { ...LATER, key: KEY, manager: 'own' }),
  ]);
  expect(answer).toMatchObject([{ verdict: 'scheduled' }, { verdict: 'scheduled' }]);
  expect(end.event).toBe('superseded');
});

/** An async context says where a callback was made, not on whose behalf it runs. */
it('a message on a socket that a handler opened is of others: refused during it, written afterwards', async () => {
  const { delays } = acting;
  const server = createServer((peer) => peer.pipe(peer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  let socket: Socket | undefined;
  const answers: unknown[] = [];
  let heard = signal();
  const onMessage = async (key: Buffer): Promise<void> => {
    const options = { ...LATER, key: key.toString() };
    answers.push(await errorOf(() => delays.schedule('test.a', { n: 1 }, options)));
    heard.resolve();
  };
  const { end } = await acting.fire(
    'transactional',
    async () => {
      socket = connect(port, '127.0.0.1').on('data', onMessage);
      socket.write('during');
      await heard.promise;
      throw new Error('rolled back');
    },
    ONCE,
  );
  expect(end.event).toBe('dead');
  heard = signal();
  socket?.write('afterwards');
  await heard.promise;
  // Nobody believes of the first one that it is scheduled, and nobody loses the second one.
  expect(answers).toEqual([refusal, undefined]);
  expect(await delays.find('test.a', 'during')).toBeNull();
  expect(await delays.find('test.a', 'afterwards')).toMatchObject({ state: 'scheduled' });
  socket?.destroy();
  server.close();
  await once(server, 'close');
});

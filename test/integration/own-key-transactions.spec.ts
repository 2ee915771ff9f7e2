import { describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { signal } from '../support/delay-node.js';
import { type ActingContext, ActingNode, KEY, type Kind, NAMES } from '../support/acting-node.js';

const LATER = { after: '1h', key: KEY } as const;

const acting = new ActingNode();

/** Moves the row on that is called `first`. */
const moveOn = async (kind: Kind, manager?: EntityManager): Promise<void> => {
  await acting.delays.schedule(NAMES[kind], 'second', { ...LATER, manager });
};

const found = (kind: Kind) => acting.delays.find(NAMES[kind], KEY);

const oops = new Error('rolled back on purpose');

/** In a transaction of that manager, which is rolled back. */
const rolledBack = async (
  { manager }: { manager: EntityManager },
  work: (manager: EntityManager) => Promise<void>,
): Promise<void> => {
  const done = manager.transaction(async (inner) => {
    await work(inner);
    throw oops;
  });
  await expect(done).rejects.toBe(oops);
};

/** Where a handler begins a transaction of its own making: inside its own, or beside it. */
const WITHIN: [kind: Kind, within: (ctx: ActingContext) => { manager: EntityManager }][] = [
  ['transactional', ({ manager }) => ({ manager: manager! })],
  ['plain', () => acting.dataSource],
];

describe.each(WITHIN)('a %s handler with a transaction of its own making', (kind, within) => {
  it.each([
    ['commits', 'superseded', expect.objectContaining({ payload: 'second', attempts: 0 })],
    ['rolls back', 'completed', null],
  ])('that %s the move is %s', async (how, event, left) => {
    const { end } = await acting.fire(kind, (ctx) =>
      how === 'commits'
        ? within(ctx).manager.transaction((inner) => moveOn(kind, inner))
        : rolledBack(within(ctx), (inner) => moveOn(kind, inner)),
    );
    expect(end.event).toBe(event);
    expect(await acting.states(kind)).toEqual([event]);
    expect(await found(kind)).toEqual(left);
  });
});

describe('a transactional handler', () => {
  const NAME = NAMES.transactional;

  it.each(['own', 'the pool', 'a second one'])(
    'that names %s as its transaction hears `running`, and does not hang',
    async (which) => {
      const { delays, dataSource } = acting;
      const asked = async (manager: EntityManager | 'own'): Promise<{ verdict: string }[]> => [
        await delays.schedule(NAME, 'second', { ...LATER, manager }),
        await delays.schedule(NAME, 'second', { ...LATER, onConflict: 'keep', manager }),
        await delays.schedule(NAME, 'second', { ...LATER, onConflict: 'error', manager }),
        ...(await delays.scheduleMany([{ name: NAME, payload: 2, ...LATER }], { manager })),
        await delays.reschedule(NAME, KEY, { after: '1h' }, { manager }),
        await delays.cancel(NAME, KEY, { manager }),
      ];
      const { end, answer } = await acting.fire('transactional', () => {
        if (which === 'a second one') return dataSource.transaction(asked);
        return asked(which === 'own' ? which : dataSource.manager);
      });
      expect(answer.map(({ verdict }) => verdict)).toEqual(Array(6).fill('running'));
      expect(end.event).toBe('completed');
      expect(await acting.states('transactional')).toEqual(['completed']);
    },
  );

  it('that moves its row on and then throws takes the move back and is tried again', async () => {
    const again = signal();
    const { end } = await acting.fire('transactional', async (ctx, { attempt }) => {
      if (attempt > 1) return again.promise;
      await moveOn('transactional', ctx.manager);
      throw new Error('after the move');
    });
    expect(end.event).toBe('retrying');
    expect(await found('transactional')).toMatchObject({ payload: 'first' });
    expect(await acting.states('transactional')).toEqual([]);
    again.resolve();
  });
});

/** The same, in plain SQL. */
async function rolledBackByHand(work: (manager: EntityManager) => Promise<void>): Promise<void> {
  const runner = acting.dataSource.createQueryRunner();
  await runner.query('BEGIN');
  await work(runner.manager);
  await runner.query('ROLLBACK');
  await runner.release();
}

describe('a plain handler with a transaction of its own making', () => {
  it.each([
    ['', (work: (manager: EntityManager) => Promise<void>) => rolledBack(acting.dataSource, work)],
    [' in plain SQL', rolledBackByHand],
  ])('that rolls the move back%s and then loses its lease is told so', async (_, undone) => {
    const { end } = await acting.fire('plain', async () => {
      await undone((manager) => moveOn('plain', manager));
      // What another node's claim does after the end of this lease.
      await acting.sql(`UPDATE delay_queue.delay SET epoch = epoch + 1, leased_by = 'another'`);
    });
    expect(end.event).toBe('lost');
  });

  it.each([
    ['refuses its last statement', `RAISE EXCEPTION 'full'`],
    ['ends its session', 'PERFORM pg_terminate_backend(pg_backend_pid())'],
  ])(
    'whose list of writes fails after its own row, as the server %s, has moved nothing',
    async (_, fails) => {
      await acting.sql(`CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN ${fails}; RETURN new; END$$`);
      await acting.sql(`CREATE TRIGGER fails BEFORE INSERT ON delay_queue.rerun
        FOR EACH ROW EXECUTE FUNCTION fails()`);
      const { delays } = acting;
      await delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'busy' });
      await acting.sql(
        `UPDATE delay_queue.delay SET leased_by = 'another', leased_until = wake_at`,
      );
      const { end, answer } = await acting.fire('plain', async () => {
        const writing = delays.scheduleMany([
          { name: NAMES.plain, payload: 'second', ...LATER },
          { name: 'test.a', payload: { n: 2 }, after: 0, key: 'busy', running: 'rerun' },
        ]);
        const error: unknown = await writing.catch((thrown: unknown) => thrown);
        await acting.sql(
          `UPDATE delay_queue.delay SET epoch = epoch + 1, leased_by = 'another' WHERE key = $1`,
          [KEY],
        );
        return error;
      });
      await acting.sql('DROP FUNCTION fails CASCADE');
      expect(answer).toBeInstanceOf(Error);
      expect(await found('plain')).toMatchObject({ payload: 'first' });
      expect(end.event).toBe('lost');
    },
  );

  // The transaction that holds the row is its own, and would wait for this very call.
  it('that has moved its row there does not wait for it elsewhere: it hears `running`', async () => {
    const { delays, dataSource } = acting;
    const { end, answer } = await acting.fire('plain', () =>
      dataSource.transaction(async (manager) => {
        await moveOn('plain', manager);
        return [
          await delays.schedule(NAMES.plain, 'third', LATER),
          ...(await delays.scheduleMany([{ name: NAMES.plain, payload: 3, ...LATER }])),
          await delays.reschedule(NAMES.plain, KEY, { after: '2h' }),
          await delays.cancel(NAMES.plain, KEY),
        ];
      }),
    );
    expect(answer.map(({ verdict }) => verdict)).toEqual(Array(4).fill('running'));
    expect(end.event).toBe('superseded');
    expect(await found('plain')).toMatchObject({ payload: 'second' });
  });

  it('that leaves the transaction open when it returns: the acknowledgement waits for its end', async () => {
    const returned = signal();
    let transaction: Promise<void> | undefined;
    const fired = acting.fire('plain', async () => {
      const moved = signal();
      transaction = acting.dataSource.transaction(async (manager) => {
        await moveOn('plain', manager);
        moved.resolve();
        await returned.promise;
      });
      await moved.promise;
    });
    await acting.until(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      ({ length }) => length === 1,
    );
    returned.resolve();
    expect((await fired).end.event).toBe('superseded');
    await transaction;
    expect(await found('plain')).toMatchObject({ payload: 'second' });
  });
});

it('a handler moves its own delay only: another key of its name is somebody else', async () => {
  const { delays } = acting;
  const { end, answer } = await acting.fire('plain', async () => [
    await delays.schedule(NAMES.plain, null, { after: '1h', key: 'neighbour' }),
    await delays.schedule('test.a', { n: 1 }, LATER),
    await delays.schedule(NAMES.plain, null, { after: '1h' }),
  ]);
  expect(answer.map(({ verdict }) => verdict)).toEqual(Array(3).fill('scheduled'));
  expect(end.event).toBe('completed');
  expect(await acting.states('plain')).toEqual(['completed']);
});

it('a plain handler waits for its own renewal, which holds the row for a moment', async () => {
  const { end, answer } = await acting.fire('plain', async () => {
    const renewal = await acting.begin();
    await renewal.manager.query(
      `UPDATE delay_queue.delay SET leased_until = leased_until + interval '1 second'
       WHERE key = $1`,
      [KEY],
    );
    const moved = acting.delays.schedule(NAMES.plain, 'second', LATER);
    await renewal.blocksSomebody();
    await renewal.commit();
    return moved;
  });
  expect(answer).toMatchObject({ verdict: 'scheduled' });
  expect(end.event).toBe('superseded');
  expect(await found('plain')).toMatchObject({ payload: 'second' });
});

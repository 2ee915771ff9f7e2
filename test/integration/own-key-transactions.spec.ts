import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TransactionalDelayContext } from 'nestjs-delay-queue';
import { OpenTransactions } from '../support/open-transactions.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  signal,
  startNode,
} from '../support/delay-node.js';

const NAME = 'test.own';
const KEY = 'k';
const LATER = { after: '1h', key: KEY } as const;

let database: TestDatabase;
let node: DelayNode;
let ends: string[];

beforeEach(async () => {
  database = await createTestDatabase();
  ends = [];
});

afterEach(async () => {
  await node?.stop();
  await database.drop();
});

/** Starts a node, fires one delay, and waits for the end of its attempt. */
async function fire(handler: ReturnType<typeof plainHandler>): Promise<void> {
  node = await startNode({ url: database.url, providers: [handler] });
  const ended = signal();
  for (const event of ['completed', 'superseded', 'lost', 'retrying'] as const) {
    node.events.on(event, () => {
      ends.push(event);
      ended.resolve();
    });
  }
  await node.delays.schedule(NAME, 'first', { after: 0, key: KEY });
  await ended.promise;
}

const states = async () => (await node.delays.history(NAME, KEY)).map(({ state }) => state);

const rollBack = new Error('rolled back on purpose');
const ignoreRollBack = (error: unknown): void => {
  if (error !== rollBack) throw error;
};

/** A handler that moves its own row on in a savepoint. */
const inSavepoint = (end: 'released' | 'rolled back') =>
  fencedHandler(NAME, async (_delay, { manager }: TransactionalDelayContext) => {
    await manager
      .transaction(async (inner) => {
        await node.delays.schedule(NAME, 'second', { ...LATER, manager: inner });
        if (end === 'rolled back') throw rollBack;
      })
      .catch(ignoreRollBack);
  });

describe('a transactional handler', () => {
  it('that names a second transaction of its own making hears `running` and does not hang', async () => {
    const answers: unknown[] = [];
    await fire(
      fencedHandler(NAME, async () => {
        await node.dataSource.transaction(async (manager) => {
          for (const onConflict of ['replace', 'keep', 'error'] as const) {
            const options = { ...LATER, onConflict, manager };
            answers.push(await node.delays.schedule(NAME, 'second', options));
          }
          answers.push(await node.delays.reschedule(NAME, KEY, { after: '1h' }, { manager }));
          answers.push(await node.delays.cancel(NAME, KEY, { manager }));
        });
      }),
    );
    expect(answers).toHaveLength(5);
    for (const answer of answers) expect(answer).toMatchObject({ verdict: 'running' });
    expect(ends).toEqual(['completed']);
    expect(await states()).toEqual(['completed']);
  });

  it.each(['own', 'the pool'])(
    'that names %s as its transaction hears `running`',
    async (which) => {
      const answers: unknown[] = [];
      await fire(
        fencedHandler(NAME, async () => {
          const manager = which === 'own' ? which : node.dataSource.manager;
          answers.push(await node.delays.schedule(NAME, 'second', { ...LATER, manager }));
          answers.push(await node.delays.cancel(NAME, KEY, { manager }));
          const again = { name: NAME, payload: 'second', ...LATER } as const;
          answers.push(...(await node.delays.scheduleMany([again], { manager })));
          answers.push(await node.delays.reschedule(NAME, KEY, { after: '1h' }, { manager }));
        }),
      );
      expect(answers).toHaveLength(4);
      for (const answer of answers) expect(answer).toMatchObject({ verdict: 'running' });
      expect(ends).toEqual(['completed']);
    },
  );

  it('that moves its row on in a savepoint is superseded', async () => {
    await fire(inSavepoint('released'));
    expect(ends).toEqual(['superseded']);
    expect(await states()).toEqual(['superseded']);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: 'second', attempts: 0 });
  });

  it('whose savepoint with the move is rolled back completes', async () => {
    await fire(inSavepoint('rolled back'));
    expect(await node.delays.find(NAME, KEY)).toBeNull();
    expect(await states()).toEqual(['completed']);
    expect(ends).toEqual(['completed']);
  });

  it('that moves its row on and then throws takes the move back and is tried again', async () => {
    let runs = 0;
    await fire(
      fencedHandler(NAME, async (_delay, { manager }) => {
        runs += 1;
        if (runs > 1) return;
        await node.delays.schedule(NAME, 'second', { ...LATER, manager });
        throw new Error('after the move');
      }),
    );
    expect(ends).toEqual(['retrying']);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: 'first' });
    expect(await states()).toEqual([]);
  });

  it('that moves its row on without awaiting it has failed, and moved nothing', async () => {
    await fire(
      fencedHandler(NAME, (_delay, { manager }) => {
        void node.delays.schedule(NAME, 'second', { ...LATER, manager });
      }),
    );
    expect(ends).toEqual(['retrying']);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: 'first' });
  });
});

describe('a plain handler with a transaction of its own making', () => {
  it('that commits the move is superseded', async () => {
    await fire(
      plainHandler(NAME, async () => {
        await node.dataSource.transaction((manager) =>
          node.delays.schedule(NAME, 'second', { ...LATER, manager }).then(() => {}),
        );
      }),
    );
    expect(ends).toEqual(['superseded']);
    expect(await states()).toEqual(['superseded']);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: 'second' });
  });

  it('that rolls the move back completes', async () => {
    await fire(
      plainHandler(NAME, async () => {
        await node.dataSource
          .transaction(async (manager) => {
            await node.delays.schedule(NAME, 'second', { ...LATER, manager });
            throw rollBack;
          })
          .catch(ignoreRollBack);
      }),
    );
    expect(ends).toEqual(['completed']);
    expect(await states()).toEqual(['completed']);
    expect(await node.delays.find(NAME, KEY)).toBeNull();
  });

  it('that rolls the move back and then loses its lease is told so', async () => {
    await fire(
      plainHandler(NAME, async () => {
        await node.dataSource
          .transaction(async (manager) => {
            await node.delays.schedule(NAME, 'second', { ...LATER, manager });
            throw rollBack;
          })
          .catch(ignoreRollBack);
        // What another node's claim does after the end of this lease.
        await node.dataSource.query(
          `UPDATE delay_queue.delay SET epoch = epoch + 1, leased_by = 'another'`,
        );
      }),
    );
    expect(ends).toEqual(['lost']);
  });

  it('that leaves the transaction open when it returns: the acknowledgement waits for its end', async () => {
    const moved = signal();
    const commit = signal();
    let transaction: Promise<void> | undefined;
    const handler = plainHandler(NAME, async () => {
      transaction = node.dataSource.transaction(async (manager) => {
        await node.delays.schedule(NAME, 'second', { ...LATER, manager });
        moved.resolve();
        await commit.promise;
      });
      await moved.promise;
    });
    const fired = fire(handler);
    await moved.promise;
    commit.resolve();
    await transaction;
    await fired;
    expect(ends).toEqual(['superseded']);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: 'second' });
  });
});

it('a handler moves its own delay only: another key of its name is somebody else', async () => {
  const answers: unknown[] = [];
  await fire(
    plainHandler(NAME, async () => {
      answers.push(await node.delays.schedule(NAME, null, { after: '1h', key: 'neighbour' }));
      answers.push(await node.delays.schedule('test.a', { n: 1 }, LATER));
      answers.push(await node.delays.schedule(NAME, null, { after: '1h' }));
    }),
  );
  expect(answers).toHaveLength(3);
  for (const answer of answers) expect(answer).toMatchObject({ verdict: 'scheduled' });
  expect(ends).toEqual(['completed']);
  expect(await states()).toEqual(['completed']);
});

it('a plain handler waits for its own renewal, which holds the row for a moment', async () => {
  const transactions = new OpenTransactions();
  const answers: unknown[] = [];
  await fire(
    plainHandler(NAME, async ({ id }) => {
      const renewal = await transactions.begin(node.dataSource);
      await renewal.manager.query(
        `UPDATE delay_queue.delay SET leased_until = leased_until + interval '1 second'
         WHERE id = $1`,
        [id],
      );
      const moved = node.delays.schedule(NAME, 'second', LATER);
      await renewal.blocksSomebody();
      await renewal.commit();
      answers.push(await moved);
    }),
  );
  expect(answers).toMatchObject([{ verdict: 'scheduled' }]);
  expect(ends).toEqual(['superseded']);
  expect(await node.delays.find(NAME, KEY)).toMatchObject({ payload: 'second' });
});

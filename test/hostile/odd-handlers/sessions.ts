import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { signal } from '../../support/delay-node.js';
import { PLAIN, TIMES_OUT, TRANSACTIONAL, type OddHandler } from './odd-handler.js';

const swallow = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => {},
    () => {},
  );

const never = new Promise<never>(() => {});

const divideByZero = (manager: EntityManager): Promise<void> =>
  swallow(manager.query('SELECT 1 / 0'));

/** Fails for good: nothing of what it wrote stays. */
const fails = (what: string, act: OddHandler['act'], error?: RegExp): OddHandler => ({
  what,
  kinds: TRANSACTIONAL,
  act: async (reach) => {
    await reach.effect();
    await act(reach);
  },
  ends: ['dead'],
  effects: 0,
  ...(error && { error }),
});

/** Ends well: what it wrote stays, once. */
const completes = (what: string, act: OddHandler['act']): OddHandler => ({
  ...fails(what, act),
  ends: ['completed'],
  effects: 1,
});

const timesOut = (what: string, act: OddHandler['act']): OddHandler => ({
  ...fails(what, act),
  ...TIMES_OUT,
});

/** May end either way, as long as what it wrote ended like its delay. */
const allOrNothing = (what: string, act: OddHandler['act']): OddHandler => ({
  ...fails(what, act),
  ends: ['completed', 'dead'],
  effects: 'as it ended',
});

/** It took the transaction into its own hands. How it ends is its own business; what it leaves is ours. */
const ends = (what: string, act: OddHandler['act']): OddHandler => {
  const { effects: _effects, ...odd } = fails(what, act);
  return { ...odd, ends: ['completed', 'dead'] };
};

const LOCK = 'LOCK TABLE delay_queue.delay IN ACCESS EXCLUSIVE MODE';
const KILL_ME = 'SELECT pg_terminate_backend(pg_backend_pid())';
const KILL_ENGINE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'delay-queue %'`;

/** Whoever can connect can NOTIFY. */
const HINTS = [
  '',
  'w',
  'w{',
  'wnull',
  'w[null]',
  'w[[1]]',
  'w[[1e400,0,"test.h",0]]',
  'w[["1",0,"test.h",0]]',
  'w[[1,2147483647,"test.h",0]]',
  `w[[${Number.MAX_SAFE_INTEGER},2147483646,"test.plain.0",0]]`,
  'w[[-1,-1,"test.plain.0",-1e308]]',
  'w[[1,0,"test.plain.0",1e308]]',
  'w[[1,0,"__proto__",0]]',
  `w${'['.repeat(7_000)}`,
  'p',
  'n',
  '\u0001',
];

/** What a transactional handler can do to its transaction, its session and its row. */
export const SESSIONS: readonly OddHandler[] = [
  fails('swallows an SQL error', ({ manager }) => divideByZero(manager), /its error was swallowed/),
  fails('swallows an SQL error, and the savepoint that fails after it', async ({ manager }) => {
    await divideByZero(manager);
    await swallow(manager.transaction(async () => {}));
  }),
  fails('swallows an SQL error, and the scheduleMany after it', async ({ manager, delays }) => {
    await divideByZero(manager);
    await swallow(delays.scheduleMany([{ name: 'test.h', payload: 1, after: '1h' }], { manager }));
  }),
  fails('throws in a savepoint', ({ manager }) =>
    manager.transaction(async () => {
      throw new Error('inside');
    }),
  ),
  completes('swallows what it throws in a savepoint', ({ manager }) =>
    swallow(
      manager.transaction(async (inner) => {
        await inner.query('SELECT 1 / 0');
      }),
    ),
  ),
  completes('opens a hundred savepoints', async ({ manager }) => {
    for (let n = 0; n < 100; n += 1) await manager.query(`SAVEPOINT sp${n}`);
  }),
  completes('begins a transaction inside its own', ({ manager }) => manager.query('BEGIN')),
  allOrNothing('leaves a savepoint of TypeORM open', ({ runner }) => runner.startTransaction()),
  allOrNothing('does not wait for a savepoint of its own', ({ manager }) => {
    void swallow(manager.transaction((inner) => inner.query('SELECT pg_sleep(0.3)')));
  }),
  ends('commits by SQL', ({ manager }) => manager.query('COMMIT')),
  ends('rolls back by SQL', ({ manager }) => manager.query('ROLLBACK')),
  ends('commits by SQL and begins another transaction', ({ manager }) =>
    manager.query('COMMIT; BEGIN'),
  ),
  ends('commits by SQL and throws', async ({ manager }) => {
    await manager.query('COMMIT');
    throw new Error('after COMMIT');
  }),
  ends('commits by its query runner', ({ runner }) => runner.commitTransaction()),
  ends('rolls back by its query runner', ({ runner }) => runner.rollbackTransaction()),
  ends('commits, begins again and leaves it open', async ({ runner }) => {
    await runner.commitTransaction();
    await runner.startTransaction();
  }),
  ends('gives its connection back', ({ runner }) => runner.release()),
  ends('gives its connection back and throws', async ({ runner }) => {
    await runner.release();
    throw new Error('after the release');
  }),
  completes('goes on after its end', ({ manager, delay }) => {
    const insert = 'INSERT INTO effect (name, key) VALUES ($1, $2)';
    void swallow(pause(50).then(() => manager.query(insert, [delay.name, delay.key])));
  }),
  fails('makes its transaction read-only', ({ manager }) =>
    manager.query('SET TRANSACTION READ ONLY'),
  ),
  fails('asks for a prepared transaction', ({ manager }) =>
    manager.query(`PREPARE TRANSACTION 'odd'`),
  ),
  completes('leaves settings in its session', async ({ manager }) => {
    await manager.query('SET SESSION search_path = pg_catalog');
    await manager.query(`SET SESSION TimeZone = 'Australia/Lord_Howe'`);
    await manager.query(`SET SESSION DateStyle = 'SQL, DMY'`);
    await manager.query(`SET SESSION IntervalStyle = 'sql_standard'`);
    await manager.query('SET SESSION extra_float_digits = 0');
    await manager.query(`SET SESSION default_transaction_isolation = 'serializable'`);
    await manager.query('RESET search_path');
  }),
  completes('gives up all advisory locks', ({ manager }) =>
    manager.query('SELECT pg_advisory_unlock_all()'),
  ),
  completes('locks the table of delays', ({ manager }) => manager.query(LOCK)),
  timesOut('locks the table of delays and never ends', async ({ manager }) => {
    await manager.query(LOCK);
    await never;
  }),
  timesOut('switches its session timeout off and never ends', async ({ manager }) => {
    await manager.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await never;
  }),
  timesOut('waits for a slow statement', ({ manager }) => manager.query('SELECT pg_sleep(3600)')),
  timesOut('swallows the end of a slow statement', ({ manager }) =>
    swallow(manager.query('SELECT pg_sleep(3600)')),
  ),
  fails('swallows a statement timeout', async ({ manager }) => {
    await manager.query('SET LOCAL statement_timeout = 20');
    await swallow(manager.query('SELECT pg_sleep(3600)'));
  }),
  fails('ends its own session', ({ manager }) => manager.query(KILL_ME)),
  fails('swallows the end of its own session', ({ manager }) => swallow(manager.query(KILL_ME))),
  completes('ends the sessions of the engine', ({ manager }) => manager.query(KILL_ENGINE)),
  fails('deletes its own row', ({ manager, delay }) =>
    manager.query('DELETE FROM delay_queue.delay WHERE id = $1', [delay.id]),
  ),
  fails('empties the table of delays', ({ manager }) =>
    manager.query('DELETE FROM delay_queue.delay'),
  ),
  fails('changes its own epoch', ({ manager, delay }) =>
    manager.query('UPDATE delay_queue.delay SET epoch = epoch + 1 WHERE id = $1', [delay.id]),
  ),
  completes('forgets all nodes', ({ manager }) => manager.query('DELETE FROM delay_queue.node')),
  completes('sends hints that make no sense', async ({ manager }) => {
    for (const hint of HINTS) await manager.query(`SELECT pg_notify('delay_queue', $1)`, [hint]);
  }),
];

const own = (
  what: string,
  end: OddHandler['ends'][number],
  act: (dataSource: DataSource, id: string) => unknown,
): OddHandler => ({
  what,
  kinds: PLAIN,
  act: ({ dataSource, delay }) => act(dataSource, delay.id),
  ends: [end],
});

/** What a plain handler can do to its row from outside. */
export const OWN_ROWS: readonly OddHandler[] = [
  own('deletes its own row', 'lost', (dataSource, id) =>
    dataSource.query('DELETE FROM delay_queue.delay WHERE id = $1', [id]),
  ),
  own('changes its own epoch', 'lost', (dataSource, id) =>
    dataSource.query('UPDATE delay_queue.delay SET epoch = epoch + 1 WHERE id = $1', [id]),
  ),
  own('empties the table of delays', 'lost', (dataSource) =>
    dataSource.query('TRUNCATE delay_queue.delay'),
  ),
  own('ends the sessions of the engine', 'completed', (dataSource) =>
    dataSource.query(KILL_ENGINE),
  ),
  own('holds its own row when it ends', 'completed', async (dataSource, id) => {
    const held = signal();
    const transaction = dataSource.transaction(async (manager) => {
      await manager.query('SELECT id FROM delay_queue.delay WHERE id = $1 FOR UPDATE', [id]);
      held.resolve();
      await pause(100);
    });
    void swallow(transaction);
    await held.promise;
  }),
  own('locks the table of delays when it ends', 'completed', async (dataSource) => {
    const held = signal();
    const transaction = dataSource.transaction(async (manager) => {
      await manager.query(LOCK);
      held.resolve();
      await pause(100);
    });
    void swallow(transaction);
    await held.promise;
  }),
];

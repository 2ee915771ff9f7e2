import { beforeAll, expect, it } from '@jest/globals';
import { type Delay, type DelayContext, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { fencedHandler, plainHandler, signal } from '../support/delay-node.js';
import { type End, ODD_OPTIONS, OddNode } from './odd-node.js';

/** What an odd handler may lay its hands on; the manager is its transaction's, if it has one. */
interface Reach {
  delay: Delay;
  ctx: DelayContext;
  manager: EntityManager;
}

type Act = (reach: Reach) => unknown;

let act: Act;

const TIMED_OUT = { timeout: 1_000, maxAttempts: 1 } as const;

/** Whoever is healthy returns. */
const run = (delay: Delay, ctx: DelayContext & { manager?: EntityManager }): unknown =>
  delay.key === 'odd' && act({ delay, ctx, manager: ctx.manager ?? node.dataSource.manager });

const node = new OddNode({
  providers: [
    plainHandler('test.plain', run as () => void, ODD_OPTIONS),
    fencedHandler('test.transactional', run as () => void, ODD_OPTIONS),
    plainHandler('test.plainInTime', run as () => void, { ...ODD_OPTIONS, ...TIMED_OUT }),
    fencedHandler('test.transactionalInTime', run as () => void, { ...ODD_OPTIONS, ...TIMED_OUT }),
  ],
});

beforeAll(() => node.sql('CREATE TABLE effect (key text NOT NULL)'));

/** @returns how it ended, and how many of its effects are left */
async function does(name: `test.${string}`, odd: Act): Promise<{ end: End; effects: number }> {
  await node.sql('TRUNCATE effect');
  act = odd;
  await node.delays.schedule(name, { n: 1 }, { after: 0, key: 'odd' });
  const end = await node.endOf('odd');
  await node.isHealthy(name);
  return { end, effects: (await node.sql('SELECT FROM effect')).length };
}

const swallow = (work: Promise<unknown>): Promise<void> =>
  work.then(
    () => {},
    () => {},
  );

const never = new Promise<never>(() => {});

const boom = (): never => {
  throw new Error('boom');
};

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const throwing = (make: () => unknown): Act => {
  return () => {
    throw make();
  };
};

const LATE = /DelayTimeoutError/;
const ANY = /./;
const KINDS = ['plain', 'transactional'] as const;

/** How `describeError` says what is thrown is in `test/unit/api/printable.spec.ts`. */
const THROWN: Record<string, [says: RegExp, act: Act]> = {
  'throws a revoked proxy of an error': [ANY, throwing(() => revoked(new Error('gone')))],
  'throws PostponeDelay of a billion years': [/100 years/, throwing(() => new PostponeDelay(1e20))],
  'throws PostponeDelay whose time cannot be read': [
    ANY,
    throwing(() => Object.defineProperty(new PostponeDelay(1), 'after', { get: boom })),
  ],
  'throws DiscardDelay whose reason cannot be read': [
    ANY,
    throwing(() => Object.defineProperty(new DiscardDelay('x'), 'reason', { get: boom })),
  ],
  // oxlint-disable-next-line unicorn/no-thenable -- hostile
  'answers a thenable that throws': [/^Error: boom$/, () => ({ then: boom })],
  'answers a revoked proxy': [/revoked/, () => revoked({})],
};

const MANNERS: Record<string, Act> = {
  'answers an error without throwing it': () => new Error('not thrown'),
  'mangles all of its delay': ({ delay }) => {
    delay.dueAt.setTime(NaN);
    for (const property of Object.keys(delay)) Reflect.set(delay, property, { toString: null });
  },
  'takes the id, name and key of another delay': ({ delay }) => {
    Object.assign(delay, { id: '1', name: 'test.other', key: 'other', attempt: 99 });
  },
  'freezes all it gets': ({ delay, ctx }) => {
    Object.freeze(delay);
    Object.freeze(ctx);
  },
  'replaces its signal, having aborted the real one for itself': ({ ctx }) => {
    ctx.signal.dispatchEvent(new Event('abort'));
    Reflect.defineProperty(ctx, 'signal', { value: AbortSignal.abort() });
  },
};

const untilAborted = ({ ctx }: Reach): Promise<void> =>
  new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve()));

const OUT_OF_TIME: Record<string, Act> = {
  'rejects when its time is over': (reach) => untilAborted(reach).then(boom),
  'takes its signal for a reason to succeed': untilAborted,
};

/** Each of them, of a plain and of a transactional handler. */
const ofBoth = <Case>(cases: Record<string, Case>) =>
  KINDS.flatMap((kind) => Object.entries(cases).map(([what, one]) => ({ kind, what, one })));

it.each(ofBoth(THROWN))('a $kind handler that $what has failed', async ({ kind, one }) => {
  const [says, odd] = one;
  const { end } = await does(`test.${kind}`, odd);
  expect(end).toMatchObject({ event: 'dead', attempt: 2, error: expect.stringMatching(says) });
});

it.each(ofBoth(MANNERS))('a $kind handler that $what has completed', async ({ kind, one }) => {
  expect((await does(`test.${kind}`, one)).end).toMatchObject({ event: 'completed', attempt: 1 });
});

it.each(ofBoth(OUT_OF_TIME))('a $kind handler that $what has failed', async ({ kind, one }) => {
  const { end } = await does(`test.${kind}InTime`, one);
  expect(end).toMatchObject({ event: 'dead', error: expect.stringMatching(LATE) });
});

const KILL_ENGINE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'delay-queue %'`;
const LOCK = 'LOCK TABLE delay_queue.delay IN ACCESS EXCLUSIVE MODE';
const DELETE_ME = `DELETE FROM delay_queue.delay WHERE key = 'odd'`;
const OUTDATE_ME = `UPDATE delay_queue.delay SET epoch = epoch + 1 WHERE key = 'odd'`;

const sends =
  (...statements: string[]): Act =>
  async ({ manager }) => {
    for (const sql of statements) await manager.query(sql);
  };

/** What a transactional handler can do to its transaction, its session and its row. */
const SESSIONS: Record<string, [ends: 'completed' | 'dead', act: Act]> = {
  'swallows an SQL error, and what fails after it': [
    'dead',
    async ({ manager }) => {
      await swallow(manager.query('SELECT 1 / 0'));
      const item = { name: 'test.h', payload: 1, after: '1h' } as const;
      await swallow(node.delays.scheduleMany([item], { manager }));
      await swallow(manager.transaction(async () => {}));
    },
  ],
  'leaves settings in its session': [
    'completed',
    sends(
      'SET SESSION search_path = pg_catalog',
      `SET SESSION TimeZone = 'Australia/Lord_Howe'`,
      `SET SESSION DateStyle = 'SQL, DMY'`,
      'SET SESSION extra_float_digits = 0',
      `SET SESSION default_transaction_isolation = 'serializable'`,
      'RESET search_path',
    ),
  ],
  'swallows the end of its own session': [
    'dead',
    ({ manager }) => swallow(manager.query('SELECT pg_terminate_backend(pg_backend_pid())')),
  ],
  'deletes its own row': ['dead', sends(DELETE_ME)],
  'changes its own epoch': ['dead', sends(OUTDATE_ME)],
  'ends the sessions of the engine': ['completed', sends(KILL_ENGINE)],
  'sends hints that make no sense': [
    'completed',
    sends(`NOTIFY delay_queue, 'w{'; NOTIFY delay_queue, 'w[[1,0,"__proto__",0]]'`),
  ],
};

/** Having written something down. */
const noting =
  (odd: Act): Act =>
  async (reach) => {
    await reach.manager.query(`INSERT INTO effect VALUES ('odd')`);
    await odd(reach);
  };

it.each(Object.entries(SESSIONS))(
  'a transactional handler that %s leaves all or nothing, as it ended',
  async (_, [ends, odd]) => {
    const { end, effects } = await does('test.transactional', noting(odd));
    expect({ ends: end.event, effects }).toEqual({ ends, effects: ends === 'completed' ? 1 : 0 });
  },
);

const leavesSavepoint: Act = ({ manager }) => manager.queryRunner!.startTransaction();

it('a transactional handler that leaves a savepoint of TypeORM open leaves all or nothing', async () => {
  const { end, effects } = await does('test.transactional', noting(leavesSavepoint));
  expect(effects).toBe(end.event === 'completed' ? 1 : 0);
});

const CUT: Record<string, Act> = {
  'locks the table of delays, switches its session timeout off and never ends': async (reach) => {
    await sends(LOCK, 'SET LOCAL idle_in_transaction_session_timeout = 0')(reach);
    await never;
  },
  'swallows the end of a slow statement': ({ manager }) =>
    swallow(manager.query('SELECT pg_sleep(3600)')),
};

it.each(Object.entries(CUT))('a transactional handler that %s is cut in time', async (_, odd) => {
  const { end, effects } = await does('test.transactionalInTime', noting(odd));
  expect(end).toMatchObject({ event: 'dead', error: expect.stringMatching(LATE) });
  expect(effects).toBe(0);
});

/** Locks what is its own until a while after it has ended. */
const holding =
  (sql: string): Act =>
  async ({ manager }) => {
    const held = signal();
    void manager.transaction(async (inner) => {
      await inner.query(sql);
      held.resolve();
      await inner.query('SELECT pg_sleep(0.1)');
    });
    await held.promise;
  };

const OWN_ROWS: Record<string, [ends: 'completed' | 'lost', act: Act]> = {
  'deletes its own row': ['lost', sends(DELETE_ME)],
  'changes its own epoch': ['lost', sends(OUTDATE_ME)],
  'ends the sessions of the engine': ['completed', sends(KILL_ENGINE)],
  'holds its own row when it ends': [
    'completed',
    holding(`SELECT FROM delay_queue.delay WHERE key = 'odd' FOR UPDATE`),
  ],
};

it.each(Object.entries(OWN_ROWS))('a plain handler that %s ends', async (_, [ends, odd]) => {
  expect((await does('test.plain', odd)).end.event).toBe(ends);
});

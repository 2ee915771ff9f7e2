import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DelayNode, fencedHandler, plainHandler } from '../support/delay-node.js';
import { Stage } from './engine/support/stage.js';

/** Sessions in the pool of the application that were opened while the server took no writes, as on an old primary. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;
const SESSIONS = 3;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
});

afterEach(() => stage.close());

/** For all sessions that begin from now on. */
const takesWrites = (isSo: boolean): Promise<unknown> =>
  stage.sql(
    `BEGIN READ WRITE;
     DO $$ BEGIN
       EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ${isSo ? 'off' : 'on'}', current_database());
     END $$;
     COMMIT`,
  );

/** That many sessions of the application's pool are open, and idle. */
async function open({ dataSource }: DelayNode, statement = 'SELECT 1'): Promise<void> {
  const runners = Array.from({ length: SESSIONS }, () => dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  for (const runner of runners) await runner.query(statement).catch(() => {});
  await Promise.all(runners.map((runner) => runner.release()));
}

/** The server takes no writes for a while, in which the pool opens its sessions, and the engine anew its own. */
async function outage(node: DelayNode, meanwhile: () => Promise<unknown>): Promise<void> {
  await takesWrites(false);
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name <> 'stage'`,
  );
  await open(node);
  await meanwhile();
  await open(node);
  await takesWrites(true);
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

const refusal = (call: Promise<unknown>): Promise<unknown> => call.then(() => undefined, codeOf);

/** The codes by which it is refused, until it is not; fails when it is refused more often than there are sessions. */
async function refusals(call: () => Promise<unknown>): Promise<unknown[]> {
  const codes: unknown[] = [];
  for (;;) {
    const code = await refusal(call());
    if (code === undefined) return codes;
    codes.push(code);
    expect(codes.length).toBeLessThanOrEqual(SESSIONS);
  }
}

const delays = (...keys: string[]) =>
  keys.map((key) => ({ name: NAME, payload: { n: 1 }, ...FAR, key }) as const);

const CALLS: [what: string, code: string, call: (node: DelayNode) => Promise<unknown>][] = [
  ['schedule', 'DELAY_UNAVAILABLE', (node) => node.delays.schedule(NAME, { n: 1 }, FAR)],
  ['cancel', 'DELAY_UNAVAILABLE', (node) => node.delays.cancel(NAME, 'first')],
  [
    'scheduleMany, in one statement',
    'DELAY_UNAVAILABLE',
    (node) => node.delays.scheduleMany(delays('a')),
  ],
  [
    'scheduleMany, in a transaction',
    'DELAY_UNAVAILABLE',
    (node) => node.delays.scheduleMany(delays('first', 'b')),
  ],
  ['retryDead', 'DELAY_UNAVAILABLE', (node) => node.delays.retryDead(NAME, 'first')],
  ['a pause', 'DELAY_UNAVAILABLE', (node) => node.admin.pause(NAME)],
  [
    'schedule with a manager',
    '25006',
    (node) =>
      node.dataSource.transaction((manager) =>
        node.delays.schedule(NAME, { n: 1 }, { ...FAR, manager }),
      ),
  ],
];

it.each(CALLS)(
  'on a server that takes no writes %s says %s, and no session is refused twice when it does',
  async (_, code, call) => {
    const node = await stage.start({ providers: [plainHandler('test.other', () => {})] });
    await node.delays.schedule(NAME, { n: 1 }, { ...FAR, key: 'first' });
    await outage(node, async () => expect(await refusal(call(node))).toBe(code));
    const codes = await refusals(() => call(node));
    expect(codes).toEqual(codes.map(() => code));
  },
);

it.each(['a transactional', 'a plain'])(
  '%s handler fails on each of such sessions once at most, and its attempts count only if it was called',
  async (kind) => {
    const write = 'INSERT INTO effect VALUES ($1)';
    const handler =
      kind === 'a plain'
        ? plainHandler(NAME, async ({ key }) => void (await node.dataSource.query(write, [key])))
        : fencedHandler(NAME, async ({ key }, { manager }) => {
            await manager.query(write, [key]);
          });
    const node = await stage.start({ options: { backoff: { base: 5 } }, providers: [handler] });
    const failed: string[] = [];
    node.events.on('taskFailed', ({ task }) => task === 'begin' && failed.push(task));
    node.events.on('retrying', () => failed.push('retrying'));
    await outage(node, () => Promise.resolve());
    const completed = node.next('completed');
    await node.delays.schedule(NAME, { n: 1 }, { after: 0, key: 'k' });
    const { attempt } = await completed;
    expect(failed.length).toBeLessThanOrEqual(SESSIONS);
    expect(attempt).toBe(kind === 'a plain' ? failed.length + 1 : 1);
    expect(await stage.sql('SELECT key FROM effect')).toEqual([{ key: 'k' }]);
  },
);

describe('a session that was given back in a transaction that had failed', () => {
  it('leaves the pool with the first call that gets it', async () => {
    const node = await stage.start({ providers: [plainHandler('test.other', () => {})] });
    await open(node, 'BEGIN; SELECT 1/0');
    const call = (): Promise<unknown> => node.delays.retryDead(NAME, 'first');
    const codes = await refusals(call);
    expect(codes).toEqual(codes.map(() => 'DELAY_UNAVAILABLE'));
  });
});

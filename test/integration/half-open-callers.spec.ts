import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayOutcomeUnknownError, DelayUnavailableError } from 'nestjs-delay-queue';
import type { Pool } from 'pg';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import { type DelayNode, plainHandler } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

/** Callers without a transaction, on connections that die without a word. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

let stage: Stage;
let proxy: PostgresProxy;

beforeEach(async () => {
  stage = await Stage.open();
  proxy = await openProxy(stage.url);
});

afterEach(async () => {
  proxy.cut();
  await stage.close({ force: true });
  await proxy.close();
});

/** One of each kind, all about keys of their own. */
const callsOf = ({ delays }: DelayNode, of: string): Promise<unknown>[] => [
  delays.schedule(NAME, { n: 1 }, FAR),
  delays.schedule(NAME, { n: 1 }, { ...FAR, key: `${of} a` }),
  delays.cancel(NAME, `${of} b`),
  delays.reschedule(NAME, `${of} c`, FAR),
  delays.scheduleMany([{ name: NAME, payload: { n: 1 }, ...FAR, key: `${of} d` }]),
  // In several statements, that are one transaction.
  delays.scheduleMany(
    ['first', `${of} e`].map((key) => ({ name: NAME, payload: { n: 1 }, ...FAR, key })),
  ),
  delays.find(NAME, 'first'),
  delays.history(NAME, 'first'),
  delays.retryDead(NAME, `${of} f`),
];

/** Knows, when it has started, that its sessions are its own: it runs handlers. */
const start = (): Promise<DelayNode> =>
  stage.start({
    database: { url: proxy.url, extra: { max: 3 } },
    providers: [plainHandler('test.other', () => {})],
  });

/** Each of the calls needs a connection of its own: all of them are on their way at once. */
async function open(calls: () => Promise<unknown>[]): Promise<void> {
  proxy.delay(30);
  await Promise.all(calls());
  proxy.delay(0);
}

/** Keeps what it is refused with. */
const unless =
  (refused: unknown[]) =>
  (call: Promise<unknown>): Promise<unknown> =>
    call.catch((error: unknown) => refused.push(error));

it('a pool that has no connection is a typed error, and nothing was written', async () => {
  const extra = { max: 1, connectionTimeoutMillis: 2_000 };
  const node = await stage.start({
    database: { url: proxy.url, extra },
    options: { worker: false },
  });
  const refused: unknown[] = [];
  const calls = (): Promise<unknown>[] => [
    node.delays.find(NAME, 'a'),
    node.delays.scheduleMany(
      ['a', 'b'].map((key) => ({ name: NAME, payload: { n: 1 }, ...FAR, key })),
    ),
    node.admin.count({}),
  ];
  const taken = node.dataSource.createQueryRunner();
  await taken.connect();
  await Promise.all(calls().map(unless(refused)));
  expect(refused).toEqual(Array(3).fill(expect.any(DelayUnavailableError)));
  await taken.release();
  expect(await node.delays.find(NAME, 'a')).toBeNull();
});

it('a statement that hangs gives up its place: those behind it go on over another connection', async () => {
  const node = await start();
  // Two connections for callers, and no more.
  await open(() =>
    [undefined, 'k'].map((key) => node.delays.schedule(NAME, { n: 0 }, { ...FAR, key })),
  );
  proxy.silence();
  // Two statements of a kind are on their way at a time.
  const refused: unknown[] = [];
  const hanging: Promise<unknown>[] = [];
  for (let n = 0; n < 2; n += 1) {
    hanging.push(unless(refused)(node.delays.schedule(NAME, { n }, FAR)));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  expect(await node.delays.schedule(NAME, { n: 2 }, FAR)).toMatchObject({ verdict: 'scheduled' });
  expect(refused).toEqual([]);
  proxy.cut();
  await Promise.all(hanging);
  expect(refused).toEqual(Array(2).fill(expect.any(DelayOutcomeUnknownError)));
});

it('when connections die without a word, each call is answered or refused, and later ones succeed', async () => {
  const node = await start();
  await open(() => callsOf(node, 'open'));
  proxy.silence();
  const refused: unknown[] = [];
  const together = Array.from({ length: 6 }, (_, n) => callsOf(node, `r${n}`)).flat();
  // All about one key: they stand in its line.
  const inLine = Array.from({ length: 20 }, () => node.delays.cancel(NAME, 'one'));
  await Promise.all([...together, ...inLine].map(unless(refused)));
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused) {
    const { constructor } = error as Error;
    expect([DelayOutcomeUnknownError, DelayUnavailableError]).toContain(constructor);
  }
  // What is told to be unknown can be asked again, with the same keys, and is known then.
  await Promise.all(callsOf(node, 'r0'));
  // The pool is as large as it was: nobody keeps a place in it.
  const { master: pool } = node.dataSource.driver as unknown as { master: Pool };
  await until(
    () => pool.totalCount - pool.idleCount,
    (busy) => busy === 0,
  );
}, 120_000);

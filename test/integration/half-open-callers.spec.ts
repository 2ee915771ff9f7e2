import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  DelayOutcomeUnknownError,
  DelayUnavailableError,
  type DelayService,
} from 'nestjs-delay-queue';
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

/** Knows, when it has started, that its sessions are its own: it runs handlers. */
const start = (extra: object = {}): Promise<DelayNode> =>
  stage.start({
    database: { url: proxy.url, extra: { max: 3, ...extra } },
    providers: [plainHandler('test.other', () => {})],
  });

const poolOf = ({ dataSource }: DelayNode): Pool =>
  (dataSource.driver as unknown as { master: Pool }).master;

/** All connections for callers are open: each of so many statements needs one. */
async function openAll({ delays }: DelayNode): Promise<void> {
  proxy.delay(20);
  await delays.schedule(NAME, { n: 0 }, { ...FAR, key: 'first' });
  await Promise.all([
    delays.schedule(NAME, { n: 0 }, FAR),
    delays.schedule(NAME, { n: 0 }, { ...FAR, key: 'k' }),
    delays.cancel(NAME, 'none'),
    delays.reschedule(NAME, 'none', FAR),
  ]);
  proxy.delay(0);
}

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One of each kind, all about keys of their own. */
const callsOf = (delays: DelayService, of: string): Promise<unknown>[] => [
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

it('a statement that hangs gives up its place: those behind it go on over another connection', async () => {
  const node = await start();
  // Two connections for callers, and no more.
  proxy.delay(50);
  await Promise.all([
    node.delays.schedule(NAME, { n: 0 }, FAR),
    node.delays.schedule(NAME, { n: 0 }, { ...FAR, key: 'first' }),
  ]);
  proxy.delay(0);
  proxy.silence();
  // Two statements of a kind are on their way at a time.
  const hanging: Promise<unknown>[] = [];
  const settled: unknown[] = [];
  for (let n = 0; n < 2; n += 1) {
    const call = node.delays.schedule(NAME, { n }, FAR);
    hanging.push(call.catch((error: unknown) => settled.push(error)));
    await immediate();
    await immediate();
  }
  expect(await node.delays.schedule(NAME, { n: 2 }, FAR)).toMatchObject({ verdict: 'scheduled' });
  expect(settled).toEqual([]);
  proxy.cut();
  await Promise.all(hanging);
  expect(settled).toHaveLength(2);
  for (const error of settled) expect(error).toBeInstanceOf(DelayOutcomeUnknownError);
});

describe('when connections die without a word', () => {
  it.each([
    [3, 'of the application', { query_timeout: 1_000 }],
    [Infinity, 'of ours', {}],
  ])(
    '%s of them, and a time limit %s: each call is answered or refused, and later ones succeed',
    async (count, _, extra) => {
      const node = await start(extra);
      await openAll(node);
      proxy.silence(count);
      const together = Array.from({ length: 6 }, (__, n) => callsOf(node.delays, `r${n}`)).flat();
      // All about one key: they stand in its line.
      const inLine = Array.from({ length: 20 }, () => node.delays.cancel(NAME, 'one'));
      const outcomes = await Promise.allSettled([...together, ...inLine]);
      const refused = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
      );
      expect(refused.length).toBeGreaterThan(0);
      for (const error of refused) {
        expect([DelayOutcomeUnknownError, DelayUnavailableError]).toContain(
          (error as Error).constructor,
        );
      }
      // What is told to be unknown can be asked again, with the same keys, and is known then.
      for (const answer of await Promise.allSettled(callsOf(node.delays, 'r0'))) {
        expect(answer).toMatchObject({ status: 'fulfilled' });
      }
      // The pool is as large as it was: nobody keeps a place in it.
      const pool = poolOf(node);
      await until(
        () => pool.totalCount - pool.idleCount,
        (busy) => busy === 0,
      );
    },
    120_000,
  );
});

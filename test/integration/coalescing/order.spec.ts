import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { InTransaction, PayloadCodec } from 'nestjs-delay-queue';
import { randomOf } from '../../../src/random.js';
import { OneNode } from '../../support/one-node.js';
import { OtherNode } from '../../support/other-node.js';

/** Calls about one key take effect one after another, whoever makes them. */
const NAME = 'test.order';
const FAR = { after: '1h' } as const;

/** Half of the payloads take a while. */
const codec: PayloadCodec = {
  encode: (json) =>
    Number(json) % 2 === 0 ? json : new Promise((resolve) => setTimeout(resolve, 3, json)),
  decode: (encoded) => encoded,
};

const node = new OneNode({ options: { worker: false, codec } });

const KEYS = ['k', 'l'] as const;
type Key = (typeof KEYS)[number];

/** What the key is when the calls are made. */
const BEGINS = ['absent', 'waiting', 'running', 'dead'] as const;

/** A call about a key; `n` tells it apart, also by its instant. */
type Verb = (target: { name: typeof NAME; key: string }, n: number, how: InTransaction) => unknown;

const at = (n: number): Date => new Date(Date.UTC(2040, 0, 1 + n));

const schedule =
  (options: (n: number) => object): Verb =>
  ({ name, key }, n, how) =>
    node.delays.schedule(name, n, { key, ...options(n), ...how } as never);

const VERBS: Record<string, Verb> = {
  replace: schedule((n) => ({ at: at(n) })),
  keep: schedule((n) => ({ at: at(n), onConflict: 'keep' })),
  error: schedule((n) => ({ at: at(n), onConflict: 'error' })),
  rerun: schedule((n) => ({ at: at(n), running: 'rerun' })),
  cron: schedule((n) => ({ repeat: { cron: `${n} 3 1 1 *` } })),
  every: schedule((n) => ({ at: at(n), repeat: { every: `${n + 1}h` } })),
  many: async ({ name, key }, n, how) => {
    const [first] = await node.delays.scheduleMany(
      [{ name, key, payload: n, at: at(n), running: n % 3 === 0 ? 'rerun' : undefined }],
      how,
    );
    return first;
  },
  cancel: ({ name, key }, _, how) => node.delays.cancel(name, key, how),
  cancelBy: ({ name, key }, n, how) => node.delays.cancel(name, key, { by: `${n}`, ...how }),
  cancelMany: async (target, _, how) => (await node.delays.cancelMany([target], how))[0],
  reschedule: ({ name, key }, n, how) => node.delays.reschedule(name, key, { at: at(n) }, how),
  extendBy: ({ name, key }, n, how) =>
    node.delays.reschedule(name, key, { extendBy: `${n + 1}h` }, { by: 'ops', ...how }),
  retryDead: ({ name, key }, _, how) => node.delays.retryDead(name, key, how),
  runNow: async (target, _, how) => (await node.admin.runNow([target], how))[0],
};

interface Call {
  key: Key;
  verb: string;
}

/** Puts the keys into their first states. Rows of the two worlds differ in the prefix alone. */
async function begin(prefix: string, states: Record<Key, string>): Promise<void> {
  const other = new OtherNode(node.dataSource.manager);
  for (const key of KEYS) {
    if (states[key] === 'absent') continue;
    const due = states[key] === 'waiting' ? { at: at(-1) } : { after: 0 };
    const { id } = await node.delays.schedule(NAME, -2, { key: prefix + key, ...due });
    if (states[key] === 'running') await other.claim(id);
    if (states[key] === 'dead') await other.claimAndFail(id, null);
  }
}

const verdictOf = async (answer: unknown): Promise<unknown> => {
  try {
    return ((await answer) as { verdict: string }).verdict;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

/** What is left of a world's keys. Instants that the clock gave are told as such. */
const leftOf = (prefix: string): Promise<unknown[]> =>
  node.sql(
    `SELECT from_what, ltrim(key, $1) AS key, payload, "repeat",
       CASE WHEN due_at > '2030-01-01' THEN due_at END AS due_at
     FROM (SELECT 'delay' AS from_what, key, payload, "repeat", due_at FROM delay_queue.delay
           UNION ALL SELECT 'rerun', key, payload, NULL, due_at FROM delay_queue.rerun
           UNION ALL SELECT state, key, NULL, NULL, due_at FROM delay_queue.history) AS rows
     WHERE starts_with(key, $1) ORDER BY 1, 2, 5`,
    [prefix],
  );

const states = fc.record({ k: fc.constantFrom(...BEGINS), l: fc.constantFrom(...BEGINS) });
const calls = fc.array(
  fc.record({ key: fc.constantFrom(...KEYS), verb: fc.constantFrom(...Object.keys(VERBS)) }),
  { minLength: 2, maxLength: 8 },
);

it.each(['each its own transaction', 'branches of one transaction'])(
  'calls that are not awaited, %s, end as those of which each is',
  async (way) => {
    let world = 0;
    const made = async (all: Call[], first: Record<Key, string>, isAwaited: boolean) => {
      const prefix = `${(world += 1)}-`;
      await begin(prefix, first);
      const open = way === 'branches of one transaction' ? await node.begin() : undefined;
      const verdicts: unknown[] = [];
      for (const [n, { key, verb }] of all.entries()) {
        const target = { name: NAME, key: prefix + key } as const;
        const how = open === undefined ? {} : { manager: open.manager };
        const verdict = verdictOf(VERBS[verb]!(target, n, how));
        verdicts.push(isAwaited ? await verdict : verdict);
      }
      const told = await Promise.all(verdicts);
      await open?.commit();
      return { told, left: await leftOf(prefix) };
    };
    await fc.assert(
      fc.asyncProperty(calls, states, async (all, first) => {
        const awaited = await made(all, first, true);
        expect(await made(all, first, false)).toEqual(awaited);
      }),
      { numRuns: 25 },
    );
  },
);

it('hundreds of calls on few keys from two nodes leave one row per key, as the verdicts say', async () => {
  const CALLS = 400;
  const LOOPS = 20;
  const KEY_COUNT = 6;
  const nodes = [node, await node.start({})];
  const random = randomOf(20_261_121);
  /** By verdict and key; keyless ones have none. */
  const counts = new Map<string, number>();
  const one = async (): Promise<void> => {
    const { delays } = random.pick(nodes);
    const key = random.integer(0, 9) === 0 ? undefined : `k${random.integer(1, KEY_COUNT)}`;
    const onConflict = random.pick(['replace', 'keep'] as const);
    const kind = key === undefined ? 9 : random.integer(0, 8);
    const slot = [NAME, key ?? ''] as const;
    const { verdict } = await (kind < 4
      ? delays.cancel(...slot)
      : kind < 5
        ? delays.reschedule(...slot, { extendBy: 1 })
        : delays.schedule(NAME, 2, { ...FAR, key, onConflict }));
    const told = `${verdict} ${key}`;
    counts.set(told, (counts.get(told) ?? 0) + 1);
  };
  // Callers that wait for nobody, and callers that go on when they have their answer.
  const unawaited = Array.from({ length: CALLS }, one);
  const loops = Array.from({ length: LOOPS }, async () => {
    for (let call = 0; call < CALLS / LOOPS; call += 1) await one();
  });
  await Promise.all([...unawaited, ...loops]);

  const rowsBy = async (table: string): Promise<Map<string, number>> => {
    const rows = await node.sql<{ key: string; rows: number }>(
      `SELECT coalesce(key, 'undefined') AS key, count(*)::int AS rows FROM delay_queue.${table} GROUP BY 1`,
    );
    return new Map(rows.map((row) => [row.key, row.rows]));
  };
  const [live, ended] = [await rowsBy('delay'), await rowsBy('history')];
  expect(live.get('undefined')).toBe(counts.get('scheduled undefined'));
  for (let n = 1; n <= KEY_COUNT; n += 1) {
    const key = `k${n}`;
    const [scheduled, cancelled] = ['scheduled', 'cancelled'].map(
      (verdict) => counts.get(`${verdict} ${key}`) ?? 0,
    ) as [number, number];
    expect(scheduled).toBeGreaterThan(0);
    // Every insert was of an absent key and every cancel of a live one: they alternate.
    expect([0, 1]).toContain(scheduled - cancelled);
    expect(live.get(key) ?? 0).toBe(scheduled - cancelled);
    expect(ended.get(key) ?? 0).toBe(cancelled);
    expect(counts.has(`running ${key}`)).toBe(false);
  }
});

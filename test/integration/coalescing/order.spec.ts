import { expect, it } from '@jest/globals';
import { DelayConflictError } from 'nestjs-delay-queue';
import { randomOf } from '../../../src/random.js';
import { OneNode } from '../../support/one-node.js';

/** Calls about one key take effect one after another, whoever makes them. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

const node = new OneNode();

it('calls about one key, not awaited, see each other in the order in which they were made', async () => {
  const { delays } = node;
  const place = (n: number, onConflict: 'replace' | 'keep' | 'error' = 'replace') =>
    delays.schedule(NAME, { n }, { ...FAR, key: 'k', onConflict });
  const cancel = () => delays.cancel(NAME, 'k');
  const calls: [Promise<{ verdict: string }>, verdict: string][] = [
    [cancel(), 'absent'],
    [place(1), 'scheduled'],
    [place(2, 'keep'), 'kept'],
    [place(3, 'error'), 'conflict'],
    [delays.reschedule(NAME, 'k', { extendBy: '1h' }), 'rescheduled'],
    [cancel(), 'cancelled'],
    [delays.reschedule(NAME, 'k', FAR), 'absent'],
    [place(4), 'scheduled'],
    [place(5), 'replaced'],
  ];
  const answers = await Promise.allSettled(calls.map(([call]) => call));
  const said = answers.map((answer) => {
    if (answer.status === 'fulfilled') return answer.value.verdict;
    expect(answer.reason).toBeInstanceOf(DelayConflictError);
    return 'conflict';
  });
  expect(said).toEqual(calls.map(([, verdict]) => verdict));
  expect(await delays.find(NAME, 'k')).toMatchObject({ payload: { n: 5 } });
});

it('hundreds of calls on few keys from two nodes leave one row per key, as the verdicts say', async () => {
  const CALLS = 400;
  const LOOPS = 20;
  const KEYS = 6;
  const nodes = [node, await node.start({})];
  const random = randomOf(20_261_121);
  /** By verdict and key; keyless ones have none. */
  const counts = new Map<string, number>();
  const one = async (): Promise<void> => {
    const { delays } = random.pick(nodes);
    const key = random.integer(0, 9) === 0 ? undefined : `k${random.integer(1, KEYS)}`;
    const onConflict = random.pick(['replace', 'keep'] as const);
    const kind = key === undefined ? 9 : random.integer(0, 8);
    const slot = [NAME, key ?? ''] as const;
    const { verdict } = await (kind < 4
      ? delays.cancel(...slot)
      : kind < 5
        ? delays.reschedule(...slot, { extendBy: 1 })
        : delays.schedule(NAME, { n: 1 }, { ...FAR, key, onConflict }));
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
  for (let n = 1; n <= KEYS; n += 1) {
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

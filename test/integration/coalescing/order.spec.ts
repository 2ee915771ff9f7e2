import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayConflictError, type DelayService } from 'nestjs-delay-queue';
import { type DelayNode, signal, plainHandler } from '../../support/delay-node.js';
import { randomOf } from '../../../src/random.js';
import { Stage } from '../engine/support/stage.js';

/** Calls about one key take effect one after another, whoever makes them. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

it('calls about one key, not awaited, see each other in the order in which they were made', async () => {
  const { delays } = await stage.start({});
  const place = (n: number, onConflict: 'replace' | 'keep' | 'error' = 'replace') =>
    delays.schedule(NAME, { n }, { ...FAR, key: 'k', onConflict });
  const answers = await Promise.allSettled([
    delays.cancel(NAME, 'k'),
    place(1),
    place(2, 'keep'),
    place(3, 'error'),
    delays.reschedule(NAME, 'k', { extendBy: '1h' }),
    delays.cancel(NAME, 'k'),
    delays.reschedule(NAME, 'k', FAR),
    place(4),
    place(5),
  ]);
  const said = answers.map((answer) => {
    if (answer.status === 'fulfilled') return answer.value.verdict;
    expect(answer.reason).toBeInstanceOf(DelayConflictError);
    return 'conflict';
  });
  expect(said).toEqual([
    'absent',
    'scheduled',
    'kept',
    'conflict',
    'rescheduled',
    'cancelled',
    'absent',
    'scheduled',
    'replaced',
  ]);
  expect(await delays.find(NAME, 'k')).toMatchObject({ payload: { n: 5 } });
});

it('a handler still moves its own row on, and what it calls for other keys travels with others', async () => {
  const asked = signal<string[]>();
  const handler = plainHandler('test.own', async ({ key }) => {
    const own = delays.schedule('test.own', 2, { ...FAR, key: key ?? '' });
    const other = delays.schedule(NAME, { n: 1 }, { ...FAR, key: 'other' });
    asked.resolve([(await own).verdict, (await other).verdict]);
  });
  const node: DelayNode = await stage.start({ providers: [handler] });
  const delays: DelayService = node.delays;
  const superseded = node.next('superseded');
  await delays.schedule('test.own', 1, { after: 0, key: 'k' });
  expect(await asked.promise).toEqual(['scheduled', 'scheduled']);
  await superseded;
  expect(await delays.find('test.own', 'k')).toMatchObject({ payload: 2, state: 'scheduled' });
});

it('thousands of calls on few keys from two nodes leave one row per key, as the verdicts say', async () => {
  const CALLS = 3_000;
  const KEYS = 12;
  const nodes = [await stage.start({}), await stage.start({})];
  const random = randomOf(20_261_121);
  const verdicts = new Map<string, Map<string, number>>();
  let keyless = 0;
  const one = async (): Promise<void> => {
    const { delays } = random.pick(nodes);
    const key = `k${random.integer(1, KEYS)}`;
    const kind = random.integer(0, 9);
    if (kind === 9) {
      await delays.schedule(NAME, { n: 0 }, FAR);
      keyless += 1;
      return;
    }
    const onConflict = random.pick(['replace', 'keep'] as const);
    const { verdict } = await (kind < 4
      ? delays.cancel(NAME, key)
      : kind < 8
        ? delays.schedule(NAME, { n: 1 }, { ...FAR, key, onConflict })
        : delays.reschedule(NAME, key, { extendBy: 1 }));
    const of = verdicts.get(key) ?? new Map<string, number>();
    verdicts.set(key, of.set(verdict, (of.get(verdict) ?? 0) + 1));
  };
  // Callers that wait for nobody, and callers that go on when they have their answer.
  const unawaited = Array.from({ length: CALLS }, one);
  const loops = Array.from({ length: 40 }, async () => {
    for (let call = 0; call < CALLS / 40; call += 1) await one();
  });
  await Promise.all([...unawaited, ...loops]);

  const rows = await stage.sql<{ key: string | null; epoch: number; rows: number }>(
    `SELECT key, max(epoch)::int AS epoch, count(*)::int AS rows FROM delay_queue.delay GROUP BY key`,
  );
  const ended = await stage.sql<{ key: string; ends: number }>(
    `SELECT key, count(*)::int AS ends FROM delay_queue.history WHERE state = 'cancelled' GROUP BY key`,
  );
  expect(rows.find(({ key }) => key === null)?.rows).toBe(keyless);
  expect(verdicts.size).toBe(KEYS);
  for (const [key, counts] of verdicts) {
    const scheduled = counts.get('scheduled') ?? 0;
    const cancelled = counts.get('cancelled') ?? 0;
    expect(scheduled).toBeGreaterThan(0);
    // Every insert was of an absent key and every cancel of a live one: they alternate.
    expect(rows.find((row) => row.key === key)?.rows ?? 0).toBe(scheduled - cancelled);
    expect(scheduled - cancelled === 0 || scheduled - cancelled === 1).toBe(true);
    expect(ended.find((line) => line.key === key)?.ends ?? 0).toBe(cancelled);
    expect(counts.get('running')).toBeUndefined();
  }
});

import { describe, expect, it } from '@jest/globals';
import type { CancelOptions, CancelResult } from 'nestjs-delay-queue';
import { NAMES } from '../../support/acting-node.js';
import { signal } from '../../support/delay-node.js';
import { ABORT, type Context, giveUp, KEY, TwoNodes, verdicts } from './support/two-nodes.js';
import { Notifier } from '../../support/engine-parts.js';

const NAME = NAMES.transactional;

const two = new TwoNodes();

/** A delay that runs, whose first attempt gives up when it is told to. */
const running = (): Promise<void> =>
  two.begin('transactional', (ctx, _, call) => (call === 1 ? giveUp(ctx) : undefined));

const UNDISTURBED = { told: [['completed', KEY]], calls: [[[KEY], [1]]] };

/** What becomes of one that would give up if it were told to. */
async function besides(disturb: () => Promise<unknown>): Promise<unknown> {
  const goOn = signal();
  await two.begin('plain', (ctx) => Promise.race([goOn.promise, giveUp(ctx)]));
  await disturb();
  goOn.resolve();
  return { told: await two.toldOf(1), calls: two.calls };
}

const idAndEpoch = async (): Promise<{ id: string; epoch: number }> => {
  const rows = await two.sql<{ id: string; epoch: number }>(
    'SELECT id::text, epoch::int FROM delay_queue.delay',
  );
  return rows[0]!;
};

describe('in a transaction of its caller', () => {
  it('a rollback leaves all as it was: what ran runs again, and has spent no attempt', async () => {
    await running();
    const { delays, dataSource } = two.asks;
    await delays.schedule(NAME, null, { after: '1h', key: 'waits' });
    const slots = [KEY, 'waits'].map((key) => ({ name: NAME, key }));
    const told: CancelResult[] = [];
    const rolledBack = dataSource.transaction(async (manager) => {
      told.push(...(await delays.cancelMany(slots, { ...ABORT, manager })));
      throw new Error('changed its mind');
    });
    await expect(rolledBack).rejects.toThrow('changed its mind');
    expect(verdicts(told)).toEqual(['cancelled', 'cancelled']);
    expect(await two.toldOf(2)).toEqual([
      ['aborted', KEY],
      ['completed', KEY],
    ]);
    expect(two.calls.map(([, attempts]) => attempts)).toEqual([[1], [1]]);
    expect(await two.effects()).toEqual([KEY]);
    expect(await delays.find(NAME, 'waits')).toMatchObject({ state: 'scheduled' });
  });

  it('with a snapshot it is refused, nothing of a list is cancelled, and what runs goes on', async () => {
    const { delays, dataSource } = two.asks;
    await delays.schedule(NAME, null, { after: '1h', key: 'waits' });
    const slots = [
      { name: NAME, key: 'waits' },
      { name: NAMES.plain, key: KEY },
    ];
    const ended = await besides(() =>
      dataSource.transaction('REPEATABLE READ', async (manager) => {
        const refused = { code: 'DELAY_INVALID', field: 'running' };
        const options = { ...ABORT, manager };
        await expect(delays.cancelMany(slots, options)).rejects.toMatchObject(refused);
        await expect(delays.cancel(NAMES.plain, KEY, options)).rejects.toMatchObject(refused);
      }),
    );
    expect(ended).toEqual(UNDISTURBED);
    expect(await delays.find(NAME, 'waits')).toMatchObject({ state: 'scheduled' });
  });
});

it('of many at a time one is told cancelled, and the others what the row says then', async () => {
  await running();
  const told = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      (n % 2 === 0 ? two.asks : two.runs).delays.cancel(NAME, KEY, ABORT),
    ),
  );
  expect(verdicts(told).toSorted((a, b) => a.localeCompare(b))).toEqual([
    ...Array<string>(7).fill('absent'),
    'cancelled',
  ]);
  expect(await two.effects()).toEqual([]);
});

it('a list is answered for each: what waits, what runs, by key or id, and what is not there', async () => {
  await running();
  const { id } = await idAndEpoch();
  const { delays, admin } = two.asks;
  await delays.schedule(NAME, null, { after: '1h', key: 'waits' });
  const keyless = await delays.schedule(NAME, null, { after: '1h' });
  const targets = [
    { name: NAME, key: 'waits' },
    { id },
    { name: NAME, key: 'x' },
    { id: keyless.id },
  ] as const;
  const told = verdicts(await admin.cancel(targets, ABORT));
  expect(told).toEqual(['cancelled', 'cancelled', 'absent', 'cancelled']);
  expect(await two.effects()).toEqual([]);
});

describe('a handler that aborts', () => {
  it.each([
    ['plain', 'joined'],
    ['transactional', 'own'],
    ['transactional batch', 'joined'],
  ] as const)('its own call (%s, %s) is told running at once, and goes on', async (kind, how) => {
    const told: CancelResult[] = [];
    await two.begin(kind, async ({ manager }: Context) => {
      const options: CancelOptions = { ...ABORT, manager: how === 'own' ? 'own' : manager };
      const slot = { name: NAMES[kind], key: KEY };
      told.push(await two.runs.delays.cancel(slot.name, KEY, options));
      told.push(...(await two.runs.delays.cancelMany([slot], options)));
    });
    await two.isEmpty();
    expect(two.calls).toEqual([[[KEY], [1]]]);
    expect(verdicts(told)).toEqual(['running', 'running']);
  });

  it('another one, which aborts it in turn: neither waits for ever, and what was cut runs again', async () => {
    const begun = { a: signal(), b: signal() };
    const done: string[] = [];
    two.does(async ({ manager }, [delay]) => {
      const [own, other] = delay!.key === 'a' ? (['a', 'b'] as const) : (['b', 'a'] as const);
      if (done.includes(own)) return;
      begun[own].resolve();
      await begun[other].promise;
      done.push(own);
      await two.runs.delays.cancel(NAME, other, { ...ABORT, manager: manager! });
    });
    await two.schedule('transactional', 'a', 'b');
    await two.isEmpty();
    expect(new Set(done)).toEqual(new Set(['a', 'b']));
    expect(new Set(two.calls.flatMap(([, attempts]) => attempts))).toEqual(new Set([1]));
  });
});

describe('what is asked', () => {
  it('of an earlier attempt is no matter of a later one', async () => {
    const ended = await besides(async () => {
      const { id, epoch } = await idAndEpoch();
      await two.sql(
        `INSERT INTO delay_queue.abort (id, epoch, asked_at)
         SELECT $1, unnest($2::bigint[]), clock_timestamp()`,
        [id, [epoch - 1, epoch + 1]],
      );
      await two.sql(`SELECT pg_notify('delay_queue', $1)`, [`a[${id}]`]);
      await two.until('SELECT epoch FROM delay_queue.abort', (rows) => rows.length === 1);
    });
    expect(ended).toEqual(UNDISTURBED);
  });

  it('and not heard is asked again', async () => {
    await running();
    let lost = 0;
    two.parts.intercept(Notifier, 'abort', async () => void (lost += 1), 2);
    const told = await two.asks.delays.cancel(NAME, KEY, ABORT);
    expect(told).toMatchObject({ verdict: 'cancelled' });
    expect(lost).toBe(2);
  });

  it.each([
    [{ running: 'kill' }, 'running'],
    [{ running: 'leave', abortWithin: '1s' }, 'abortWithin'],
    [{ running: 'abort', abortWithin: 0 }, 'abortWithin'],
    [{ running: 'abort', abortWithin: '2h' }, 'abortWithin'],
    [{ running: 'abort', manager: null }, 'manager'],
    [{ run: 'abort' }, 'options.run'],
  ])('in the wrong way is refused: %j', async (options, field) => {
    const { delays, admin } = two.asks;
    const wrong = options as CancelOptions;
    const slot = { name: NAME, key: KEY } as const;
    for (const refused of [
      delays.cancel(NAME, KEY, wrong),
      delays.cancelMany([slot], wrong),
      admin.cancel([slot], wrong),
    ]) {
      await expect(refused).rejects.toMatchObject({ code: 'DELAY_INVALID', field });
    }
  });
});

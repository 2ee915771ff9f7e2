import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DelayService,
  DiscardDelay,
  OnDeadDelay,
  OnDelay,
  PostponeDelay,
} from 'nestjs-delay-queue';
import { plainHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { startTested, told } from './support/tested.js';

const HOUR_MS = 3_600_000;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

/** Handlers that schedule, and the service that they do it with. */
const late: { delays?: DelayService } = {};
const delays = (): DelayService => late.delays as DelayService;

async function start(...providers: ReturnType<typeof plainHandler>[]) {
  const node = await startTested(stage, { providers });
  late.delays = node.delays;
  return node;
}

describe('time that passes in a test', () => {
  it('runs what becomes due in it, in order, and leaves the rest as much nearer', async () => {
    const { testing } = await start(
      plainHandler('test.a', () => {}),
      plainHandler('test.b', () => {}),
    );
    await delays().schedule('test.b', { text: '' }, { after: '3h', key: '3' });
    await delays().schedule('test.a', { n: 2 }, { after: '2h', key: '2' });
    await delays().schedule('test.b', { text: '' }, { after: '1h', key: '1' });
    await delays().schedule('test.a', { n: 4 }, { after: '4h', key: '4' });
    const ran = await testing.advance('210m');
    expect(told(ran)).toEqual([
      'test.b 1: completed',
      'test.a 2: completed',
      'test.b 3: completed',
    ]);
    expect(ran[1]).toMatchObject({ payload: { n: 2 }, attempt: 1, error: null });
    expect(ran.map(({ travelledMs }) => Math.round(travelledMs / HOUR_MS))).toEqual([1, 2, 3]);
    await testing.expectScheduled('test.a', '4', { dueIn: '30m', payload: { n: 4 } });
    await testing.expectNotScheduled('test.b', '3');
    expect(told(await testing.advance('30m'))).toEqual(['test.a 4: completed']);
    expect(await testing.advance('9d')).toEqual([]);
  });

  it('has handlers see a delay that is due now, and as old as it would be', async () => {
    const seen: number[] = [];
    const { testing } = await start(
      plainHandler('test.a', ({ dueAt, createdAt, latenessMs }) => {
        seen.push(Number(dueAt) - Number(createdAt), latenessMs);
      }),
    );
    const { dueAt } = await delays().schedule('test.a', { n: 1 }, { after: '48h', key: '1' });
    await testing.advance('48h');
    const [age, latenessMs] = seen as [number, number];
    expect(Math.round(age / HOUR_MS)).toBe(48);
    expect(latenessMs).toBeLessThan(HOUR_MS);
    const [ended] = await delays().history('test.a', '1');
    expect(Number(ended?.dueAt)).toBeLessThanOrEqual(Number(dueAt) - 47 * HOUR_MS);
  });

  it('makes what has ended older, too', async () => {
    const { testing } = await start(plainHandler('test.a', () => {}));
    await delays().schedule('test.a', { n: 1 }, { after: 0, key: '1' });
    await testing.drain();
    const [before] = await delays().history('test.a', '1');
    await testing.advance('5h');
    const [after] = await delays().history('test.a', '1');
    expect(Number(before?.endedAt) - Number(after?.endedAt)).toBe(5 * HOUR_MS);
  });

  it('takes the retries of a delay along, up to the dead letter', async () => {
    const { testing } = await start(
      plainHandler(
        'test.a',
        () => {
          throw new Error('no');
        },
        { maxAttempts: 3, backoff: { base: '1h', factor: 2, max: '1d', jitter: 0 } },
      ),
    );
    await delays().schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    expect(told(await testing.advance('90m'))).toEqual(['test.a 1: retrying']);
    await testing.expectScheduled('test.a', '1', { dueIn: '30m' });
    const ran = await testing.advance('3h');
    expect(ran.map(({ attempt, outcome, error }) => [attempt, outcome, error])).toEqual([
      [2, 'retrying', 'Error: no'],
      [3, 'dead', 'Error: no'],
    ]);
    expect(await testing.advance('30d')).toEqual([]);
    await testing.expectNotScheduled('test.a', '1');
    expect(await delays().find('test.a', '1')).toMatchObject({ state: 'dead', wakeAt: null });
  });

  it('calls the method of a delay that becomes a dead letter', async () => {
    const buried: unknown[] = [];
    class Failing {
      @OnDelay('test.a', { maxAttempts: 2, backoff: { base: '1h', max: '1h' } })
      fail(): void {
        throw new Error('no');
      }

      @OnDeadDelay('test.a')
      dead({ key }: { key: string | null }): void {
        buried.push(key);
      }
    }
    const { testing } = await start(Failing);
    await delays().schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    expect(told(await testing.advance('3h'))).toEqual(['test.a 1: retrying', 'test.a 1: dead']);
    expect(buried).toEqual(['1']);
  });

  it('goes on behind one that fails, is postponed or given up', async () => {
    let postponed = false;
    const { testing } = await start(
      plainHandler('test.a', ({ key }) => {
        if (key === '1') throw new DiscardDelay('never');
        if (key === '2' && !postponed) {
          postponed = true;
          throw new PostponeDelay('2h');
        }
      }),
    );
    await delays().schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
    await delays().schedule('test.a', { n: 2 }, { after: '2h', key: '2' });
    await delays().schedule('test.a', { n: 3 }, { after: '3h', key: '3' });
    expect(told(await testing.advance('4h'))).toEqual([
      'test.a 1: dead',
      'test.a 2: postponed',
      'test.a 3: completed',
      'test.a 2: completed',
    ]);
  });

  it('runs what its handlers schedule, as far as it falls into that time', async () => {
    const next = async (to: `test.${string}`): Promise<void> => {
      await delays().schedule(to, null, { after: '1h', key: 'c' });
    };
    const { testing } = await start(
      plainHandler('test.first', () => next('test.second')),
      plainHandler('test.second', () => next('test.third')),
      plainHandler('test.third', () => next('test.first')),
    );
    await delays().schedule('test.first', null, { after: '1h', key: 'c' });
    expect(told(await testing.advance('3h'))).toEqual([
      'test.first c: completed',
      'test.second c: completed',
      'test.third c: completed',
    ]);
    await testing.expectScheduled('test.first', 'c', { dueIn: '1h' });
  });

  it.each([
    ['after: 1d', () => ({ after: '1d' as const })],
    ['at: a day behind its due time', (dueAt: Date) => ({ at: new Date(+dueAt + 24 * HOUR_MS) })],
  ])('runs recurring work as often as it recurs (%s)', async (_, when) => {
    const { testing } = await start(
      plainHandler('test.daily', async ({ dueAt }) => {
        await delays().schedule('test.daily', null, { ...when(dueAt), key: 'eu' });
      }),
    );
    await delays().schedule('test.daily', null, { after: '1d', key: 'eu' });
    const thrice = Array.from({ length: 3 }, () => 'test.daily eu: superseded');
    expect(told(await testing.advance('3d'))).toEqual(thrice);
    expect(told(await testing.advance('3d'))).toEqual(thrice);
    expect(await testing.advance('23h')).toEqual([]);
    await testing.expectScheduled('test.daily', 'eu', { dueIn: '1h' });
  });

  it('keeps the order of what is overdue: the first may cancel the next', async () => {
    const { testing, events } = await start(
      plainHandler('test.a', async ({ key }) => {
        if (key === '1') await delays().cancel('test.a', '2');
      }),
    );
    // Whoever watches disturbs nobody.
    events.prependListener('completed', () => {
      throw new Error('of a listener');
    });
    for (const key of ['1', '2', '3']) {
      const at = new Date(Date.now() - HOUR_MS + Number(key) * 1_000);
      await delays().schedule('test.a', { n: 1 }, { at, key });
    }
    expect(told(await testing.advance(0))).toEqual(['test.a 1: completed', 'test.a 3: completed']);
  });

  it('leaves room for calls in between: they mean what they always mean', async () => {
    const { testing } = await start(plainHandler('test.a', () => {}));
    for (const key of ['paid', 'late', 'again']) {
      await delays().schedule('test.a', { n: 1 }, { after: '30m', key });
    }
    await testing.advance('20m');
    expect(await delays().cancel('test.a', 'paid')).toMatchObject({ verdict: 'cancelled' });
    await delays().reschedule('test.a', 'late', { extendBy: '15m' });
    await delays().schedule('test.a', { n: 2 }, { after: '5m', key: 'again' });
    expect(told(await testing.advance('10m'))).toEqual(['test.a again: completed']);
    expect(told(await testing.advance('15m'))).toEqual(['test.a late: completed']);
    expect(await delays().history('test.a', 'paid')).toMatchObject([{ state: 'cancelled' }]);
  });

  it('moves what nobody here has a handler for along, and dead letters', async () => {
    const { testing } = await start(plainHandler('test.a', () => {}));
    const { dueAt } = await delays().schedule('test.elsewhere', null, { after: '10h', key: '1' });
    await stage.sql(`INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
                     VALUES ('test.elsewhere', 'dead', 'null', now(), 'infinity', now())`);
    const dead = await delays().find('test.elsewhere', 'dead');
    expect(await testing.advance('6h')).toEqual([]);
    await testing.expectScheduled('test.elsewhere', '1', { dueIn: '4h' });
    const moved = await delays().find('test.elsewhere', '1');
    expect(Number(dueAt) - Number(moved?.dueAt)).toBe(6 * HOUR_MS);
    const old = await delays().find('test.elsewhere', 'dead');
    expect(old).toMatchObject({ state: 'dead', wakeAt: null });
    expect(Number(dead?.dueAt) - Number(old?.dueAt)).toBe(6 * HOUR_MS);
    // Moved as by any write: whoever knew the row before knows nothing of it now.
    expect(await stage.sql(`SELECT epoch::int FROM delay_queue.delay`)).toEqual([
      { epoch: 1 },
      { epoch: 1 },
    ]);
    await testing.advance('6h');
    expect(await delays().find('test.elsewhere', '1')).toMatchObject({ attempts: 0 });
  });

  it('is what now() tells, beside the clock of the database', async () => {
    const { testing } = await start(plainHandler('test.a', () => {}));
    await delays().schedule('test.a', { n: 1 }, { after: '2h', key: '1' });
    const before = testing.now();
    await testing.advance('5h');
    const hours = (Number(testing.now()) - Number(before)) / HOUR_MS;
    expect(Math.round(hours)).toBe(5);
    await testing.drain();
    const [{ now } = { now: before }] = await stage.sql<{ now: Date }>('SELECT now()');
    expect(Math.round((Number(testing.now()) - Number(now)) / HOUR_MS)).toBe(5);
  });

  it('goes no further back than 1970, however long it is', async () => {
    const { testing } = await start(plainHandler('test.a', () => {}));
    await delays().schedule('test.a', { n: 1 }, { at: new Date('9999-12-31'), key: '1' });
    await delays().schedule('test.elsewhere', null, { after: '1h', key: '1' });
    for (let centuries = 0; centuries < 3; centuries += 1) await testing.advance('100y');
    const { createdAt, dueAt } = (await delays().find('test.elsewhere', '1')) ?? {};
    expect([createdAt, dueAt].map(Number)).toEqual([0, 0]);
    await testing.expectScheduled('test.a', '1');
  });
});

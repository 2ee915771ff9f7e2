import { expect, it } from '@jest/globals';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';
import { fails, TestedNode, told } from './support/tested.js';

const HOUR_MS = 3_600_000;

/** What becomes of all there is while time passes in a test. */
const node = new TestedNode({ 'test.a': {}, 'test.b': {} });

/** In whole hours, by which the first is later. */
const hours = (later?: Date, earlier?: Date): number =>
  Math.round((Number(later) - Number(earlier)) / HOUR_MS);

it('runs what becomes due in it, in order, and leaves the rest as much nearer', async () => {
  const { testing } = node;
  await node.schedule('test.b', '3', '3h');
  await node.delays.schedule('test.a', { n: 2 }, { after: '2h', key: '2' });
  await node.schedule('test.b', '1', '1h');
  await node.delays.schedule('test.a', { n: 4 }, { after: '4h', key: '4' });
  const ran = await testing.advance('210m');
  expect(told(ran)).toEqual(['test.b 1: completed', 'test.a 2: completed', 'test.b 3: completed']);
  expect(ran[1]).toMatchObject({ payload: { n: 2 }, attempt: 1, error: null });
  expect(ran.map(({ travelledMs }) => Math.round(travelledMs / HOUR_MS))).toEqual([1, 2, 3]);
  await testing.expectScheduled('test.a', '4', { dueIn: '30m', payload: { n: 4 } });
  await testing.expectNotScheduled('test.b', '3');
  expect(told(await testing.advance('30m'))).toEqual(['test.a 4: completed']);
  expect(await testing.advance('9d')).toEqual([]);
});

it('has handlers begin when their delay is due, to the millisecond', async () => {
  const seen: unknown[] = [];
  node.does['test.a'] = ({ dueAt, createdAt, latenessMs }) =>
    seen.push([dueAt, Number(dueAt) - Number(createdAt), latenessMs, node.testing.now()]);
  await node.testing.clear({ now: new Date('2030-01-31T09:00:00.000Z') });
  const { dueAt } = await node.schedule('test.a', '1', '48h');
  expect(dueAt).toEqual(new Date('2030-02-02T09:00:00.000Z'));
  const [run] = await node.testing.advance('49h');
  expect(seen).toEqual([[dueAt, 48 * HOUR_MS, 0, dueAt]]);
  expect(run).toMatchObject({ at: dueAt, travelledMs: 48 * HOUR_MS });
  await node.testing.advance('5h');
  expect(await node.delays.history('test.a', '1')).toEqual([
    expect.objectContaining({ dueAt, endedAt: dueAt, latenessMs: 0 }),
  ]);
  await node.testing.clear();
});

it('takes the retries of a delay along, up to the dead letter', async () => {
  node.does['test.a'] = fails;
  await node.schedule('test.a', '1', '1h');
  expect(told(await node.testing.advance('90m'))).toEqual(['test.a 1: retrying']);
  await node.testing.expectScheduled('test.a', '1', { dueIn: '30m' });
  const ran = await node.testing.advance('3h');
  expect(ran.map(({ attempt, outcome, error }) => [attempt, outcome, error])).toEqual([
    [2, 'retrying', 'Error: no'],
    [3, 'dead', 'Error: no'],
  ]);
  expect(await node.testing.advance('30d')).toEqual([]);
  await node.testing.expectNotScheduled('test.a', '1');
  expect(await node.delays.find('test.a', '1')).toMatchObject({ state: 'dead', wakeAt: null });
});

it('goes on behind one that is given up or postponed', async () => {
  node.does = {
    'test.a': () => {
      throw new DiscardDelay('never');
    },
    'test.b': () => {
      node.does = {};
      throw new PostponeDelay('2h');
    },
  };
  await node.schedule('test.a', '1', '1h');
  await node.schedule('test.b', '2', '2h');
  await node.schedule('test.b', '3', '3h');
  expect(told(await node.testing.advance('4h'))).toEqual([
    'test.a 1: dead',
    'test.b 2: postponed',
    'test.b 3: completed',
    'test.b 2: completed',
  ]);
});

it.each([
  ['after: 1d', () => ({ after: '1d' })],
  ['at: a day behind its due time', (dueAt: Date) => ({ at: new Date(+dueAt + 24 * HOUR_MS) })],
])('runs what its handlers schedule, as far as it falls into that time (%s)', async (_, when) => {
  node.does['test.a'] = ({ dueAt }) =>
    node.delays.schedule('test.a', { n: 1 }, { ...when(dueAt), key: 'eu' });
  await node.schedule('test.a', 'eu', '1d');
  const thrice = Array.from({ length: 3 }, () => 'test.a eu: superseded');
  expect(told(await node.testing.advance('3d'))).toEqual(thrice);
  expect(told(await node.testing.advance('3d'))).toEqual(thrice);
  expect(await node.testing.advance('23h')).toEqual([]);
  await node.testing.expectScheduled('test.a', 'eu', { dueIn: '1h' });
});

it('keeps the order of what is overdue: the first may cancel the next', async () => {
  node.does['test.a'] = ({ key }) => key === '1' && node.delays.cancel('test.a', '2');
  // Whoever watches disturbs nobody.
  node.events.prependOnceListener('completed', () => {
    throw new Error('of a listener');
  });
  for (const key of ['1', '2', '3']) {
    const at = new Date(Date.now() - HOUR_MS + Number(key) * 1_000);
    await node.delays.schedule('test.a', { n: 1 }, { at, key });
  }
  // As it is when all of them were scheduled within a millisecond.
  await node.sql(
    'UPDATE delay_queue.delay SET wake_at = (SELECT max(wake_at) FROM delay_queue.delay)',
  );
  expect(told(await node.testing.advance(0))).toEqual([
    'test.a 1: completed',
    'test.a 3: completed',
  ]);
});

it('passes for what nobody here has a handler for, and dead letters, and touches no row', async () => {
  await node.schedule('test.elsewhere', 'waits', '10h');
  await node.schedule('test.elsewhere', 'dead', 0);
  await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity' WHERE key = 'dead'`);
  const rows = () => node.sql('SELECT *, xmin::text FROM delay_queue.delay ORDER BY id');
  const before = await rows();
  expect(await node.testing.advance('6h')).toEqual([]);
  await node.testing.expectScheduled('test.elsewhere', 'waits', { dueIn: '4h' });
  await node.testing.advance('6h');
  expect(await rows()).toEqual(before);
  expect(await node.delays.find('test.elsewhere', 'waits')).toMatchObject({ attempts: 0 });
});

it('is what now() tells, ahead of the clock of the database', async () => {
  await node.schedule('test.a', '1', '2h');
  const ahead = async (): Promise<number> => {
    const [row] = await node.sql<{ now: Date }>('SELECT clock_timestamp() AS now');
    return Number(node.testing.now()) - Number(row?.now);
  };
  const before = await ahead();
  await node.testing.advance('5h');
  expect(Math.round(((await ahead()) - before) / HOUR_MS)).toBe(5);
});

it('goes as far as a test says, and nowhere back', async () => {
  await node.delays.schedule('test.a', { n: 1 }, { at: new Date('9999-12-31'), key: '1' });
  await node.schedule('test.elsewhere', '1', '1h');
  await node.testing.advance('36525d');
  const { createdAt, dueAt } = (await node.delays.find('test.elsewhere', '1')) ?? {};
  expect(hours(dueAt, createdAt)).toBe(1);
  await node.testing.expectScheduled('test.a', '1');
  const back = node.testing.advanceTo(new Date());
  await expect(back).rejects.toMatchObject({ code: 'DELAY_TESTING' });
  await expect(back).rejects.toThrow(/and time only moves forward: 2\d{3}-.* has passed/);
  await node.testing.clear();
});

it('a key that is to run once more does so at its time, and not after a clear', async () => {
  const { testing, delays } = node;
  const asked = { key: '1', after: '2h', running: 'rerun' } as const;
  /** Runs the key, and asks for one more run meanwhile, in a transaction. */
  const asks = async (n: number, span: string) => {
    const [begun, goesOn] = [signal(), signal()];
    node.does['test.a'] = async () => {
      begun.resolve();
      await goesOn.promise;
    };
    const advancing = testing.advance(span);
    await begun.promise;
    const open = await node.begin();
    const { manager } = open;
    const result = await delays.schedule('test.a', { n }, { ...asked, manager });
    expect([result.verdict, hours(result.dueAt, testing.now())]).toEqual(['rerun', 2]);
    return {
      commit: open.commit,
      ends: async () => {
        goesOn.resolve();
        expect(told(await advancing)).toEqual(['test.a 1: completed']);
      },
    };
  };
  await node.schedule('test.a', '1', '1h');
  const first = await asks(2, '1h');
  await first.commit();
  await first.ends();
  await testing.expectScheduled('test.a', '1', { dueIn: '2h', payload: { n: 2 } });
  const second = await asks(3, '2h');
  await second.ends();
  await second.commit();
  const third = await asks(4, '2h');
  await third.ends();
  await third.commit();
  await testing.clear();
  expect(await testing.advance('9d')).toEqual([]);
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';

/** One group's sale: far more than a node keeps in its ready queue, and than a sweep reads at once. */
const BIG = 20_000;
const SMALL = 10;
/** What a sweep reads before it looks past those, and what was claimed until then. */
const BEGUN_MAX = 6_000;

/** Delays of one name, due so many seconds ago. Parameters: how many, group, seconds. */
const INSERT = `
  INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
  SELECT 'test.sale', 'null', at, at, at, $2
  FROM generate_series(1, $1::int), LATERAL (SELECT now() - $3 * interval '1 second' AS at) AS due`;

let stage: Stage;
/** The groups, in the order in which their delays ran. */
let ran: (string | null)[];

beforeEach(async () => {
  stage = await Stage.open();
  ran = [];
});

afterEach(() => stage.close());

const handler = (concurrency = 2) =>
  plainHandler(
    'test.sale',
    async ({ group }) => {
      await new Promise(setImmediate);
      ran.push(group);
    },
    { concurrency },
  );

const ranOf = (group: string | null): Promise<number> =>
  until(
    () => ran.filter((one) => one === group).length,
    (count) => count >= SMALL,
  );

const begunBefore = (group: string | null): number => ran.lastIndexOf(group) + 1 - SMALL;

describe('the groups of a name', () => {
  it.each(['small', null])(
    'run in turn, also behind the backlog of another at the start: %s',
    async (group) => {
      await stage.sql(INSERT, [BIG, 'big', 60]);
      await stage.sql(INSERT, [SMALL, group, 30]);
      await stage.start({ providers: [handler()] });
      await ranOf(group);
      expect(begunBefore(group)).toBeLessThan(BEGUN_MAX);
    },
  );

  it('run in turn when they come while another runs', async () => {
    await stage.sql(INSERT, [BIG, 'big', 60]);
    const node = await stage.start({ providers: [handler()] });
    await until(
      () => ran.length,
      (length) => length > 100,
    );
    const before = ran.length;
    const items = Array.from({ length: SMALL }, () => ({
      name: 'test.sale' as const,
      payload: null,
      after: 0,
      group: 'small',
    }));
    await node.delays.scheduleMany(items);
    await ranOf('small');
    expect(ran.lastIndexOf('small') - before).toBeLessThan(BEGUN_MAX);
  });

  it('are served one after another where there is one place', async () => {
    const gate = signal();
    const taken: (string | null)[] = [];
    const node = await stage.start({
      providers: [
        plainHandler(
          'test.sale',
          async ({ group }) => {
            taken.push(group);
            await gate.promise;
          },
          { concurrency: 1 },
        ),
        plainHandler('test.mark', () => {}),
      ],
    });
    const first = node.next('started');
    await node.delays.schedule('test.sale', null, { after: 0, group: 'a' });
    await first;
    for (const group of ['a', 'a', 'b', 'c', 'b']) {
      await node.delays.schedule('test.sale', null, { after: 0, group });
    }
    // Who was scheduled before it is in the ready queue when it runs.
    const marked = node.next('completed', ({ name }) => name === 'test.mark');
    await node.delays.schedule('test.mark', null, { after: 0 });
    await marked;
    gate.resolve();
    await until(
      () => taken.length,
      (length) => length === 6,
    );
    expect(taken).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
  });
});

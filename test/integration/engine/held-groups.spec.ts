import { afterEach, expect, it } from '@jest/globals';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { Scanner } from '../../support/engine-parts.js';

/** Delays that wait for the limit of their group are in the way of no other group. */
const NAME = 'test.sale';
const ONE_AT_A_TIME = { perGroup: { concurrency: 1 } } as const;

let gate = signal();
const stage = stageOfEach({ release: () => gate.resolve() });

afterEach(() => {
  gate = signal();
});

/** Handlers of each group wait in here. @returns the groups, in the order in which they began */
function holding(concurrency: number) {
  const begun: (string | null)[] = [];
  const handler = plainHandler(
    NAME,
    async ({ group }) => {
      begun.push(group);
      await gate.promise;
    },
    { concurrency, timeout: '60s', ...ONE_AT_A_TIME },
  );
  return { begun, handler };
}

it('a line is shared among all groups, however many each has: the first of each begins', async () => {
  // One after the other, and more of the first half than a line has room for.
  const [groups, each] = [150, 140];
  for (let n = 0; n < groups; n += 1) {
    await stage.overdue(NAME, each, { group: `g${n}`, secondsAgo: 10_000 - n });
  }
  const { begun, handler } = holding(groups);
  await stage.start({ providers: [handler] });
  await until(
    () => begun.length,
    (length) => length === groups,
  );
  expect(new Set(begun).size).toBe(groups);
});

it.each([
  ['many groups, in turn', '(n % 1000)', 1_000],
  ['many groups, one behind the other', '(n / 15)', 1_000],
  ['few groups, in turn', '(n % 20)', 20],
])(
  'each group runs in the order of its due times, however many wait: %s',
  async (_, group, groups) => {
    await stage.sql(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
       SELECT $1, to_jsonb(n), due, due, due, 'g' || ${group}
       FROM generate_series(0, 14999) AS n,
            LATERAL (SELECT date_trunc('milliseconds', now() - interval '1 min') + n * interval '1 ms') AS t(due)`,
      [NAME],
    );
    const latest = new Map<string | null, number>();
    const early: unknown[] = [];
    const handler = plainHandler(
      NAME,
      async ({ group: of, payload }) => {
        if (Number(payload) < (latest.get(of) ?? -1)) early.push([of, payload]);
        latest.set(of, Number(payload));
        await new Promise(setImmediate);
      },
      { concurrency: 500, ...ONE_AT_A_TIME },
    );
    await stage.start({ providers: [handler] });
    // 15,000 in twenty lines of one at a time: 4 s of a quiet machine, and half a minute of a fullGroups one.
    await until(
      () => stage.sql('SELECT FROM delay_queue.delay LIMIT 1'),
      (rows) => rows.length === 0,
      { withinMs: 110_000 },
    );
    expect([early, latest.size]).toEqual([[], groups]);
  },
  120_000,
);

it('what is overdue behind them is looked for soon, and not with the next pass', async () => {
  stage.parts.replace(Scanner, 'everyMs', () => 3_600_000);
  const claimBatch = 5;
  const { begun, handler } = holding(10);
  // More than a sweep reads first.
  await stage.overdue(NAME, 200, { group: 'held' });
  const node = await stage.start({
    options: { claimBatch },
    providers: [handler, plainHandler('test.mark', () => {})],
  });
  await until(
    () => begun,
    (groups) => groups.length === 1,
  );
  await stage.overdue(NAME, 1, { group: 'other' });
  // As long as anything runs.
  await until(
    async () => {
      await node.delays.schedule('test.mark', null, { after: 0 });
      return begun;
    },
    (groups) => groups.includes('other'),
  );
  expect(begun).toEqual(['held', 'other']);
});

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { plainHandler } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';
import { until } from '../../support/until.js';

const ORPHANS = 300_000;
const OWN = 50;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

const overdue = (name: string, count: number, ageSeconds: number) =>
  stage.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT $1, 'null', at, at, at
     FROM generate_series(1, $2::int) AS n,
          LATERAL (SELECT date_trunc('milliseconds', clock_timestamp())
                          - $3::int * interval '1 second' + n / 10 * interval '1 ms' AS at) AS due`,
    [name, count, ageSeconds],
  );

it('overdue rows of a name nobody serves hide nothing, and stay out of memory', async () => {
  // In the order of their wake: orphans, own ones, orphans.
  await overdue('test.orphan', ORPHANS, 3_600);
  await overdue('test.own', OWN, 1_800);
  await overdue('test.orphan', 10_000, 900);
  const sweep = jest.spyOn(NodeStore.prototype, 'sweep');
  const load = jest.spyOn(NodeStore.prototype, 'load');
  const ran = new Set<string>();
  const node = await stage.start({
    providers: [plainHandler('test.own', ({ id }) => void ran.add(id))],
  });
  await until(
    () => ran.size,
    (size) => size === OWN,
  );
  // What is new fires as if they were not there.
  const completed = node.next('completed', ({ key }) => key === 'new');
  await node.delays.schedule('test.own', null, { after: 50, key: 'new' });
  await completed;

  const pages = await Promise.all(
    [...sweep.mock.results, ...load.mock.results].map(
      ({ value }) => value as ReturnType<NodeStore['sweep' | 'load']>,
    ),
  );
  const names = new Set(pages.flatMap((page) => page.wakes.map(({ name }) => name)));
  expect([...names]).toEqual(['test.own']);
  // A statement looks at up to 10,000 rows, once it has found that most are foreign.
  expect(sweep.mock.calls.length).toBeLessThan(40);
  const left = await stage.sql<{ name: string; count: number }>(
    'SELECT name, count(*)::int AS count FROM delay_queue.delay GROUP BY name',
  );
  expect(left).toEqual([{ name: 'test.orphan', count: ORPHANS + 10_000 }]);
});

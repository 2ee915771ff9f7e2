import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { explain } from '../support/explain.js';
import type { DelayNode } from '../support/delay-node.js';
import { Stage } from './engine/support/stage.js';
import { SelectionStore } from '../support/engine-parts.js';

/** Each cause that a delay can wait for, and all of them together: what stands in the tables is what is told. */

let stage: Stage;
let node: DelayNode;

beforeEach(async () => {
  stage = await Stage.open();
  node = await stage.start({ options: { worker: false } });
});

afterEach(() => stage.close());

const ROWS = {
  due: `wake_at = now() + interval '1 hour'`,
  retry: `wake_at = now() + interval '1 hour', attempts = 1`,
  attempt: `leased_until = now() + interval '1 hour', leased_by = 'here', attempts = 1`,
  dead: `wake_at = 'infinity', attempts = 1`,
  overdue: `wake_at = now() - interval '1 hour'`,
} as const;

const PAUSES = ['none', 'of the name', 'of the group', 'over'] as const;

/** As claims leave them: until when its rate is used up, how many places there were, and how many attempts run. */
const LIMITS = {
  none: ['NULL', 'NULL', 0],
  'a rate': [`now() + interval '1 hour'`, 'NULL', 0],
  'a rate that has filled': ['now()', 'NULL', 2],
  places: ['NULL', '2', 2],
  'places, one of them free': ['NULL', '2', 1],
  'places, beside a rate that has filled': ['now()', '2', 2],
  'a rate, beside places that are free': [`now() + interval '1 hour'`, '2', 0],
} as const;

const HOLDS: readonly (keyof typeof LIMITS)[] = [
  'a rate',
  'places',
  'places, beside a rate that has filled',
  'a rate, beside places that are free',
];

interface Case {
  row: keyof typeof ROWS;
  paused: (typeof PAUSES)[number];
  served: boolean;
  limit: keyof typeof LIMITS;
  /** '': the limit is that of the name. */
  limited: '' | 'g';
}

/** The order of the docstring. */
function expected({ row, paused, served, limit }: Case): string | null {
  if (row !== 'overdue') return row === 'dead' ? null : row;
  if (paused.startsWith('of')) return 'pause';
  if (!served) return 'node';
  return HOLDS.includes(limit) ? 'limit' : 'turn';
}

const insert = (values: string): string =>
  `INSERT INTO delay_queue.delay (name, key, group_id, payload, due_at, wake_at, created_at) VALUES ${values}`;

/** SQL that makes it, the only one of its name. */
function plant({ name, row, paused, limit, limited }: Case & { name: string }): string {
  const one = (key: string) => `('${name}', '${key}', 'g', 'null', now(), now(), now())`;
  const [fullUntil, places, running] = LIMITS[limit];
  const statements = [
    `WITH one AS (${insert(one('asked'))} RETURNING id) SELECT FROM one`,
    `UPDATE delay_queue.delay SET ${ROWS[row]} WHERE name = '${name}'`,
    `INSERT INTO delay_queue.quota (name, group_id, tokens, filled_at, full_since, full_until, full_slots)
     VALUES ('${name}', '${limited}', 0, now(), now(), ${fullUntil}, ${places})`,
    // One that counts no more: its claim is over.
    `INSERT INTO delay_queue.permit (name, group_id, id, epoch) SELECT name, 'g', id, 99 FROM delay_queue.delay
     WHERE name = '${name}'`,
  ];
  for (let n = 0; n < running; n += 1) statements.push(insert(one(`runs-${n}`)));
  statements.push(
    `UPDATE delay_queue.delay SET leased_until = now() + interval '1 hour', leased_by = 'here', epoch = 1
     WHERE name = '${name}' AND key LIKE 'runs-%'`,
    `INSERT INTO delay_queue.permit (name, group_id, id, epoch) SELECT name, 'g', id, 1 FROM delay_queue.delay
     WHERE name = '${name}' AND key LIKE 'runs-%'`,
  );
  if (paused !== 'none') {
    const ends = paused === 'over' ? 'now()' : `'infinity'`;
    const group = paused === 'of the group' ? 'g' : '';
    statements.push(
      `INSERT INTO delay_queue.pause (name, group_id, paused_at, until) VALUES ('${name}', '${group}', now(), ${ends})`,
    );
  }
  return statements.join(';');
}

const CASES: readonly (Case & { name: string })[] = (Object.keys(ROWS) as Case['row'][])
  .flatMap((row) => PAUSES.map((paused) => ({ row, paused })))
  .flatMap((one) => [true, false].map((served) => ({ ...one, served })))
  .flatMap((one) => (Object.keys(LIMITS) as Case['limit'][]).map((limit) => ({ ...one, limit })))
  .flatMap((one) => (['', 'g'] as const).map((limited) => ({ ...one, limited })))
  .map((one, index) => ({ ...one, name: `test.n${index}` }));

const is = (one: Case, ...whats: string[]): number => (whats.includes(expected(one) ?? '') ? 1 : 0);

it('of all causes together the strongest is told, of each delay and in the counts', async () => {
  const served = CASES.filter((one) => one.served).map(({ name }) => name);
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     VALUES ('here', $1, false, now(), now() + interval '1 hour')`,
    [served],
  );
  for (const one of CASES) await stage.sql(plant(one));

  const told = await node.admin.list({ keyPrefix: 'asked' }, { limit: 1_000 });
  const wrong = told.flatMap(({ name, waitsFor }) => {
    const one = CASES.find((each) => each.name === name)!;
    const what = waitsFor?.what ?? null;
    return what === expected(one) ? [] : [{ ...one, what }];
  });
  expect(told).toHaveLength(CASES.length);
  expect(wrong).toEqual([]);

  const { names } = await node.admin.stats();
  const counted = names.map((one) => [one.name, one.overduePaused, one.overdueLimited, one.late]);
  const counts = CASES.map((one) => [
    one.name,
    is(one, 'pause'),
    is(one, 'limit'),
    is(one, 'node', 'turn'),
  ]);
  expect(counted).toEqual(counts.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
});

it('each limit is looked up once, and reads its own attempts, however many groups there are', async () => {
  const MANY = 1_000;
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, group_id, payload, due_at, wake_at, created_at)
     SELECT 'test.crowd', 'g' || n, 'null', now(), now(), now() FROM generate_series(1, ${MANY}) n, generate_series(1, 2);
     UPDATE delay_queue.delay SET leased_until = now() + interval '1 hour', leased_by = 'here' WHERE id <= ${MANY};
     INSERT INTO delay_queue.permit (name, group_id, id, epoch) SELECT name, group_id, id, epoch
     FROM delay_queue.delay WHERE leased_by IS NOT NULL;
     INSERT INTO delay_queue.quota (name, group_id, tokens, filled_at, full_since, full_slots)
     SELECT 'test.crowd', g, 1, now(), now(), CASE WHEN g = '' THEN ${MANY} ELSE 1 END
     FROM (SELECT '' UNION ALL SELECT 'g' || n FROM generate_series(1, ${MANY}) n) AS q(g);
     INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     VALUES ('here', '{test.crowd}', false, now(), now() + interval '1 hour')`,
  );
  const store = new SelectionStore('delay_queue');
  const client = new Client({ connectionString: stage.url });
  await client.connect();
  const read: number[] = [];
  const query = async <Row>(sql: string, parameters: unknown[]): Promise<Row[]> => {
    const plan = await explain(client, sql, parameters);
    const inVain = plan.scansOf('permit').map(({ removedByFilter }) => removedByFilter);
    read.push(plan.buffers, ...inVain);
    return [];
  };
  await store.nameStats({ query }, 30_000);
  await store.groupStats({ query }, {}, { by: 'overdue', limit: MANY });
  await store.list({ query }, {}, { behindId: 0, limit: MANY }, 30_000);
  await client.end();
  // Each limit with each attempt, or each delay with each of both, would be millions.
  expect(Math.max(...read)).toBeLessThan(MANY * 50);
  const [crowd] = (await node.admin.stats()).names;
  expect(crowd).toMatchObject({ overdue: MANY, overdueLimited: MANY, late: 0 });
});

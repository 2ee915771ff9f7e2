import { beforeAll, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { explain } from '../../support/explain.js';
import { fileDatabase } from '../../support/file-database.js';
import {
  FILLED,
  fillDelays,
  FUTURE,
  ORPHANS,
  OVERDUE,
  SERVED,
  SOON,
} from '../../support/full-tables.js';
import {
  DelaySearch,
  ENDS_READ_MAX,
  OverviewStore,
  Rights,
  type Scope,
  type SearchFilter,
  SETTINGS,
  WALK_ROWS_MAX,
} from '../../support/dashboard-parts.js';
import { bring } from '../../support/statements.js';
import { Payloads, type ResolvedOptions, type Runner } from '../../support/engine-parts.js';

/** What the dashboard reads of full tables: never all of them. */
const database = fileDatabase();
const store = new OverviewStore({ schema: 'delay_queue', clock: 'database' });
let client: Client;

/** Dead letters, and delays of a name of which no row has a key. */
const DEAD = 20_000;
const KEYLESS = 20_000;

beforeAll(async () => {
  client = await database.connect();
  await fillDelays(client, { analyzes: false });
  await client.query(`
    INSERT INTO delay_queue.delay (name, group_id, payload, due_at, wake_at, created_at, attempts, last_error)
    SELECT 'test.dead', 'g', '{}', now(), 'infinity', now(), 3, 'Error: ' || n FROM generate_series(1, ${DEAD}) n;
    INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
    SELECT 'test.keyless', '{}', at, at, now()
    FROM generate_series(1, ${KEYLESS}) n, LATERAL (SELECT now() + interval '9 day' + n * interval '1 s') t(at);
    INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name)
    SELECT n, now() - n * interval '1 s', now(), now(), 1, 1, 'completed', 'test.keyless' FROM generate_series(1, 50000) n`);
  await client.query(`VACUUM ANALYZE ${FILLED}`);
  // As each look of the dashboard does.
  await bring(client, { ...SETTINGS, statement_timeout: '0' }, 'session ends');
});

/** Runs statements, and notes what each read of the tables of delays. */
class ReadingRunner implements Runner {
  readonly tooMuch: string[] = [];

  constructor(private readonly rowsMax: number) {}

  async query<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const plan = await explain(client, sql, parameters);
    for (const table of ['delay', 'history']) {
      for (const { type, rows, removedByFilter } of plan.scansOf(table)) {
        const read = rows + removedByFilter;
        if (type === 'Seq Scan' || read > this.rowsMax) {
          this.tooMuch.push(`${type} of ${read} rows: ${sql}`);
        }
      }
    }
    return (await client.query(sql, parameters)).rows as Row[];
  }
}

const VIEWERS: Record<string, Scope> = {
  all: {},
  'one name': { name: [SERVED] },
  'a rare name': { name: ['test.none'] },
  'a group': { group: ['g'] },
};

const options = {
  installation: { schema: 'delay_queue', clock: 'database' },
  loadEveryMs: 10_000,
  payloads: new Payloads(1_000),
} as ResolvedOptions;

it.each<SearchFilter>([
  {},
  { q: 'key 7' },
  { q: '7' },
  { q: 'test.keyless' },
  { q: 'no name at all' },
  { name: 'test.keyless' },
  { name: 'test.none' },
  { keyPrefix: 'key 7' },
  { group: 'g' },
  { group: 'group 7' },
  { state: ['dead'] },
  { state: ['dead'], error: 'none' },
  { state: ['running'] },
  { state: ['retrying'] },
  { dueFrom: '2100-01-01T00:00:00.000Z' },
  { header: 'a:b' },
  { state: ['completed'] },
  { state: ['completed'], name: 'test.none' },
  { state: ['completed'], key: 'key 7' },
  { state: ['discarded'] },
  { state: ['completed'], id: '7' },
])('a search for %j', async (filter) => {
  for (const scope of Object.values(VIEWERS)) {
    const runner = new ReadingRunner(WALK_ROWS_MAX);
    const rights = new Rights({ who: 'tester', actions: 'all', ...scope });
    await new DelaySearch(options).page(runner, filter, rights, { after: null, limit: 50 });
    expect(runner.tooMuch).toEqual([]);
  }
});

it('a page that stops before it has found anything leads to one that has', async () => {
  const search = new DelaySearch(options);
  const rights = new Rights({ who: 'tester', actions: 'all' });
  const filter = { name: 'test.keyless' };
  const runner = new ReadingRunner(WALK_ROWS_MAX);
  const first = await search.page(runner, filter, rights, { after: null, limit: 50 });
  const nothing = { delays: [], stoppedAfter: WALK_ROWS_MAX };
  expect(first).toMatchObject({ ...nothing, count: { count: 0, is: 'atLeast' } });
  let page = first;
  let stops = 0;
  while (page.delays.length === 0 && page.next !== null) {
    stops += 1;
    page = await search.page(runner, filter, rights, { after: page.next, limit: 50 });
  }
  // All that wakes before them.
  expect(stops).toBe(Math.floor((FUTURE + OVERDUE + ORPHANS + SOON) / WALK_ROWS_MAX));
  expect(page).toMatchObject({ stoppedAfter: null, count: null });
  expect(page.delays).toHaveLength(50);
});

it.each(Object.entries(VIEWERS))('an overview for a viewer of %s', async (_who, scope) => {
  const runner = new ReadingRunner(ENDS_READ_MAX);
  await store.buckets(runner, scope, { count: 60, stepMs: 3_600_000, readMax: 100 });
  await store.due(runner, scope, 30_000);
  await store.ahead(runner, scope);
  await store.dead(runner, scope, 200, 'kind');
  await store.ends(runner, scope);
  await store.nodes(runner, 30_000);
  await store.names(runner);
  expect(runner.tooMuch).toEqual([]);
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Client } from 'pg';
import type { DashboardGrant } from 'nestjs-delay-queue/dashboard';
import { DashboardApp } from '../../support/dashboard-app.js';
import { changesOf, ordered } from '../../support/dashboard-operations.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

/** Random orders of random viewers change what a model says, and nothing else. */
const NAMES = ['test.a', 'test.b'];
const GROUPS = ['eu', 'us', null];
const STATES = ['scheduled', 'retrying', 'running', 'dead'] as const;
const ACTIONS = ['runNow', 'cancel', 'retry', 'discard', 'reschedule'] as const;

type State = (typeof STATES)[number];
type Action = (typeof ACTIONS)[number];

interface Row {
  id: string;
  name: string;
  key: string;
  group: string | null;
  state: State;
  error: string | null;
}

interface Filter {
  name?: string;
  group?: string;
  key?: string;
  state?: State[];
  error?: string;
}

/** What becomes of a delay that is changed, and which states can be. */
const CHANGED: Record<Action, { verdict: string; states: readonly State[] }> = {
  runNow: { verdict: 'due', states: ['scheduled', 'retrying'] },
  reschedule: { verdict: 'rescheduled', states: ['scheduled', 'retrying'] },
  cancel: { verdict: 'cancelled', states: ['scheduled', 'retrying', 'dead'] },
  retry: { verdict: 'retried', states: ['dead'] },
  discard: { verdict: 'discarded', states: ['dead'] },
};

let database: TestDatabase;
let client: Client;
let app: DashboardApp;
let grant: DashboardGrant;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  app = await DashboardApp.start({ url: database.url, dashboard: { authorize: () => grant } });
});
afterAll(async () => {
  await app.stop();
  await client.end();
  await database.drop();
});

/** One delay for each name, group and state. */
async function fill(): Promise<Row[]> {
  await client.query('TRUNCATE delay_queue.delay, delay_queue.history');
  const all = NAMES.flatMap((name) =>
    GROUPS.flatMap((group) => STATES.map((state) => ({ name, group, state }))),
  );
  const { rows } = await client.query<Row>(
    `INSERT INTO delay_queue.delay AS d
       (name, key, group_id, payload, due_at, wake_at, created_at, attempts, last_error, leased_by, leased_until)
     SELECT name, group_id || state, group_id, '1', now() + interval '1 day',
            CASE state WHEN 'dead' THEN 'infinity' ELSE now() + interval '1 day' END, now(),
            CASE state WHEN 'scheduled' THEN 0 ELSE 1 END, CASE WHEN state IN ('retrying', 'dead') THEN 'no ' || name END,
            CASE state WHEN 'running' THEN 'n' END, CASE state WHEN 'running' THEN now() + interval '1 day' END
     FROM jsonb_to_recordset($1) AS given(name text, group_id text, state text)
     RETURNING id::text, name, key, group_id AS group, last_error AS error`,
    [JSON.stringify(all.map(({ group, ...one }) => ({ ...one, group_id: group })))],
  );
  return rows.map((row, index) => ({ ...row, state: all[index]!.state }));
}

const epochs = async (): Promise<Map<string, string>> => {
  const { rows } = await client.query<{ id: string; epoch: string }>(
    'SELECT id::text, epoch::text FROM delay_queue.delay',
  );
  return new Map(rows.map(({ id, epoch }) => [id, epoch]));
};

const matches = (row: Row, { name, group, key, state, error }: Filter): boolean =>
  (name === undefined || row.name === name) &&
  (group === undefined || row.group === group) &&
  (key === undefined || row.key === key) &&
  (state === undefined || state.includes(row.state)) &&
  (error === undefined || (row.error ?? '').includes(error));

const maySee = (row: Row, { names, groups }: DashboardGrant): boolean =>
  (names?.includes(row.name) ?? true) &&
  (groups === undefined || (row.group !== null && groups.includes(row.group)));

const optional = <Value>(value: fc.Arbitrary<Value>) =>
  fc.option(value, { nil: undefined, freq: 2 });

const someOf = <Value>(values: readonly Value[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: values.length });

const grants = fc.record({
  actions: someOf(ACTIONS),
  names: optional(someOf([...NAMES, 'test.c'])),
  groups: optional(someOf(['eu', 'us', 'elsewhere'])),
});

const filters: fc.Arbitrary<Filter> = fc
  .record({
    name: optional(fc.constantFrom(...NAMES, 'test.c')),
    group: optional(fc.constantFrom('eu', 'us', 'elsewhere')),
    key: optional(fc.constantFrom('eudead', 'usscheduled', 'absent')),
    state: optional(someOf(STATES)),
    error: optional(fc.constantFrom('no', 'test.a')),
  })
  .map((filter) => JSON.parse(JSON.stringify(filter)) as Filter)
  .filter((filter) => Object.keys(filter).length > 0);

const orders = fc.record({
  action: fc.constantFrom(...ACTIONS),
  which: fc.oneof(
    filters.map((filter) => ({ filter })),
    // Positions of the rows; one is of none.
    fc.uniqueArray(fc.integer({ min: 0, max: 24 }), { minLength: 1 }).map((at) => ({ at })),
  ),
});

it('changes what the order selects, the viewer may see and the action can change', async () => {
  await fc.assert(
    fc.asyncProperty(grants, orders, async ({ actions, names, groups }, { action, which }) => {
      grant = {
        who: 'viewer',
        actions: ['view', ...actions],
        ...(names && { names }),
        ...(groups && { groups }),
      };
      const rows = await fill();
      const ids = 'at' in which ? which.at.map((at) => rows[at]?.id ?? '999999') : undefined;
      const before = await epochs();
      const { status, body } = await ordered(app, {
        action,
        which: ids === undefined ? which : { ids },
        ...(action === 'reschedule' && { to: { after: '1h' } }),
      });
      const after = await epochs();
      const touched = rows.filter(({ id }) => before.get(id) !== after.get(id));
      const isAllowed = actions.includes(action);
      expect(status).toBe(isAllowed ? 200 : 404);
      const selected = rows.filter(
        (row) =>
          isAllowed &&
          maySee(row, grant) &&
          (ids === undefined
            ? matches(row, (which as { filter: Filter }).filter)
            : ids.includes(row.id)),
      );
      const { verdict, states } = CHANGED[action];
      const expected = selected.filter((row) => states.includes(row.state));
      expect(touched).toEqual(expected);
      if (!isAllowed) return;

      const { id, state, counts } = body;
      const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
      const listed = await changesOf(app, id);
      expect({ state, all: ids === undefined || all === ids.length, listed }).toEqual({
        state: 'done',
        all: true,
        listed: expected.map(({ id: of, name, key }) => ({ id: of, name, key, verdict })),
      });
      expect(counts[verdict] ?? 0).toBe(expected.length);
    }),
    { numRuns: 60 },
  );
});

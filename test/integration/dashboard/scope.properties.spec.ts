import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { oneDashboard } from '../../support/one-dashboard.js';
import { grantOf, viewer } from './support/viewers.js';
import type {
  DeadView,
  DelayLine,
  NameChoice,
  Overview,
  SearchPage,
  StoryView,
} from '../../support/dashboard-parts.js';

const dashboard = oneDashboard({
  dashboard: { authorize: grantOf },
});

const NAMES = ['a', 'b', 'c'] as const;
const GROUPS = ['g', 'h'] as const;
const STATES = [
  'scheduled',
  'retrying',
  'running',
  'late',
  'dead',
  'completed',
  'cancelled',
] as const;
const ENDED: readonly string[] = ['completed', 'cancelled'];
const ALL = 'scheduled,running,retrying,dead,completed,cancelled,discarded,superseded';

interface Row {
  name: string;
  group: string | null;
  hasKey: boolean;
  state: (typeof STATES)[number];
  error: string | null;
}

const ROW = fc.record<Row>({
  name: fc.constantFrom(...NAMES),
  group: fc.constantFrom(null, ...GROUPS),
  hasKey: fc.boolean(),
  state: fc.constantFrom(...STATES),
  error: fc.constantFrom(null, 'Error: x', 'Error: x\n at y', 'Error: X'),
});

const LIMITS = fc.record(
  { names: fc.subarray([...NAMES, 'none']), groups: fc.subarray([...GROUPS, 'none']) },
  { requiredKeys: [] },
);

/** Its id is its place in the list, from 1 on; the key of each third is the same in all names. */
async function plant(rows: readonly Row[]): Promise<void> {
  await dashboard.dataSource.query('TRUNCATE delay_queue.delay, delay_queue.history');
  const given = rows.map((row, index) => ({
    ...row,
    id: index + 1,
    key: row.hasKey ? `k${index}` : null,
  }));
  await dashboard.dataSource.query(
    `WITH r AS (SELECT * FROM json_to_recordset($1::json)
                AS r(id bigint, name text, key text, "group" text, state text, error text)),
     live AS (
       INSERT INTO delay_queue.delay (id, name, key, group_id, payload, due_at, wake_at, created_at, attempts,
                                      leased_until, leased_by, last_error)
       OVERRIDING SYSTEM VALUE
       SELECT id, name, key, "group", '{}', w.at, CASE state WHEN 'dead' THEN 'infinity' ELSE w.at END, now(),
              CASE WHEN state IN ('scheduled', 'late') THEN 0 ELSE 1 END,
              CASE state WHEN 'running' THEN now() + interval '1 h' END, CASE state WHEN 'running' THEN 'n' END, error
       FROM r, LATERAL (SELECT now() + CASE WHEN state IN ('scheduled', 'retrying') THEN interval '90 min'
                                            ELSE interval '-1 h' END) w(at)
       WHERE NOT state = ANY ($2))
     INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, group_id, error)
     SELECT id, now() - interval '1 h', now(), now(), 1, 1, state, name, key, "group", error
     FROM r WHERE state = ANY ($2)`,
    [JSON.stringify(given), ENDED],
  );
}

it('a viewer with limits reads what one without them does, but for what is not theirs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(ROW, { maxLength: 25 }),
      LIMITS,
      fc.integer({ min: 1, max: 7 }),
      async (rows, limits, limit) => {
        await plant(rows);
        const who = viewer(limits);
        const isTheirs = ({ name, group }: Pick<Row, 'name' | 'group'>): boolean =>
          (limits.names?.includes(name) ?? true) &&
          (limits.groups === undefined || limits.groups.includes(group ?? '-'));
        const theirs = rows.flatMap((row, index) =>
          isTheirs(row) ? [{ ...row, id: index + 1 }] : [],
        );
        const live = theirs.filter(({ state }) => !ENDED.includes(state));

        expect(await allFound({ state: ALL }, who, limit)).toEqual(theirs.map(({ id }) => id));
        for (const name of NAMES) {
          const ofName = live.filter((row) => row.name === name).map(({ id }) => id);
          expect(await allFound({ name }, who, limit)).toEqual(ofName);
        }
        await delaysAndStories(rows, isTheirs, who);
        await overviewOf(live, theirs, limits, who);
      },
    ),
    { numRuns: 8 },
  );
});

/** The ids of all pages, in their order. */
async function allFound(
  query: Record<string, string>,
  who: Record<string, string>,
  limit: number,
): Promise<number[]> {
  const found: DelayLine[] = [];
  let count: SearchPage['count'] = null;
  let after: string | null = '';
  while (after !== null) {
    const asked: Record<string, string> = { ...query, limit: String(limit) };
    if (after !== '') asked['after'] = after;
    const path = `api/search?${new URLSearchParams(asked).toString()}`;
    const { body }: { body: SearchPage } = await dashboard.get<SearchPage>(path, who);
    count ??= body.count;
    found.push(...body.delays);
    after = body.next;
  }
  expect(count).toEqual({ count: found.length, is: 'exact' });
  return found.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
}

async function delaysAndStories(
  rows: readonly Row[],
  isTheirs: (row: Row) => boolean,
  who: Record<string, string>,
): Promise<void> {
  for (const [index, row] of rows.slice(0, 5).entries()) {
    const { status } = await dashboard.get(`api/delay?id=${index + 1}`, who);
    expect(status).toBe(isTheirs(row) ? 200 : 404);
    if (!row.hasKey) continue;
    const { body } = await dashboard.get<StoryView>(`api/story?key=k${index}`, who);
    expect(body.delays).toHaveLength(isTheirs(row) ? 1 : 0);
  }
}

const isShown = ([, ...counts]: (string | number)[]): boolean => counts.some((one) => one !== 0);

async function overviewOf(
  live: readonly Row[],
  theirs: readonly Row[],
  limits: { names?: string[]; groups?: string[] },
  who: Record<string, string>,
): Promise<void> {
  const count = (rows: readonly Row[], ...states: Row['state'][]): number =>
    rows.filter(({ state }) => states.includes(state)).length;
  const { body } = await dashboard.get<Overview>('api/overview', who);
  const expected = [...NAMES, 'none'].map((name) => {
    const ofName = theirs.filter((row) => row.name === name);
    return [
      name,
      live.filter((row) => row.name === name).length,
      count(ofName, 'running'),
      count(ofName, 'retrying'),
      count(ofName, 'dead'),
      count(ofName, 'late'),
      count(ofName, 'completed'),
    ];
  });
  const shown = body.names.map((line) => [
    line.name,
    line.live.count,
    line.running.count,
    line.retrying.count,
    line.dead.count,
    line.late.count,
    line.completed.count,
  ]);
  expect(shown.filter(isShown)).toEqual(expected.filter(isShown));
  const mayKnow = new Set([...theirs.map(({ name }) => name), ...(limits.names ?? [])]);
  const isLimited = (limits.names ?? limits.groups) !== undefined;
  const choices = (await dashboard.get<NameChoice[]>('api/names', who)).body;
  const told = [...body.names, ...choices].map(({ name }) => name);
  expect(told.filter((name) => isLimited && !mayKnow.has(name))).toEqual([]);
  expect([body.health === null, body.nodes === null]).toEqual([isLimited, isLimited]);
  const due = body.due.day.counts.reduce((sum, one) => sum + one, 0);
  expect(due).toBe(count(live, 'scheduled', 'retrying'));
  const { groups } = (await dashboard.get<DeadView>('api/dead', who)).body;
  const dead = groups.reduce((sum, group) => sum + group.count.count, 0);
  expect(dead).toBe(count(live, 'dead'));
  const lines = new Set(
    live
      .filter(({ state }) => state === 'dead')
      .map(({ name, error }) => `${name} ${error?.split('\n')[0] ?? ''}`),
  );
  expect(new Set(groups.map(({ name, error }) => `${name} ${error ?? ''}`))).toEqual(lines);
}

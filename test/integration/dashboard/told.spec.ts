import { describe, expect, it } from '@jest/globals';
import { oneDashboard } from '../../support/one-dashboard.js';
import { plainHandler } from '../../support/delay-node.js';
import type { DeadView, NameLine, Overview, SearchPage } from '../../support/dashboard-parts.js';

const dashboard = oneDashboard({
  providers: [plainHandler('test.x', async () => {}, { global: { concurrency: 7 } })],
});

/** Delays of a name; a node serves it unless it is `gone`. */
const delays = (name: string, many: number, columns: Record<string, string>): string => {
  const all = {
    due_at: 'now()',
    wake_at: `now() + interval '1 h'`,
    created_at: 'now()',
    ...columns,
  };
  return `INSERT INTO delay_queue.delay (name, payload, ${Object.keys(all).join(', ')})
          SELECT '${name}', '{}', ${Object.values(all).join(', ')} FROM generate_series(1, ${many})`;
};

interface State {
  plant: string;
  /** What the overview says of it, whatever else there is. */
  tells: (overview: Overview, line: NameLine) => void;
  /** The reason of its note; without one it is no trouble. */
  note?: string;
  name: string;
}

const tone = (line: NameLine) => (line.oldestLateMs ?? 0) >= 1_000;

const STATES: Record<string, State> = {
  'one that waits': {
    name: 'waits',
    plant: delays('waits', 1, {}),
    tells: (_all, line) => expect(line).toMatchObject({ oldestLateMs: null, retries: 0 }),
  },
  'one that runs': {
    name: 'runs',
    plant: delays('runs', 1, {
      wake_at: `now() - interval '1 min'`,
      attempts: '1',
      leased_until: `now() + interval '1 h'`,
      leased_by: `'node'`,
    }),
    tells: (_all, line) =>
      expect(line).toMatchObject({ running: { count: 1 }, late: { count: 0 }, oldestLateMs: null }),
  },
  'a retry after two failures': {
    name: 'fails',
    plant: delays('fails', 1, { attempts: '3', last_error: `'Error: no'` }),
    tells: (_all, line) => expect(line).toMatchObject({ retries: 2, oldestLateMs: null }),
  },
  'fourteen dead letters': {
    name: 'died',
    plant: delays('died', 14, { wake_at: `'infinity'`, attempts: '5', last_error: `'Error: no'` }),
    note: 'deadLetters',
    tells: ({ health }, line) => {
      expect(line).toMatchObject({ dead: { count: 14 }, retries: 14 * 4, oldestLateMs: null });
      expect(health?.notes).toContainEqual(
        expect.objectContaining({ text: '14 dead letters (the limit is 100)' }),
      );
    },
  },
  'one that is late': {
    name: 'late',
    plant: delays('late', 1, { wake_at: `now() - interval '34 s'` }),
    note: 'late',
    tells: ({ health }, line) => {
      expect(Math.floor((line.oldestLateMs ?? 0) / 10_000)).toBe(3);
      const text = expect.stringMatching(
        /^1 delay is late, the oldest by 3\d s \(the limit is 1 min\)$/,
      );
      expect(health?.notes).toContainEqual(expect.objectContaining({ text }));
    },
  },
  'a name that no node serves': {
    name: 'gone',
    plant: delays('gone', 1, {}),
    note: 'unserved',
    tells: (_all, line) => expect(line).toMatchObject({ nodes: 0, live: { count: 1 } }),
  },
  'a pause that holds one': {
    name: 'paused',
    plant: `INSERT INTO delay_queue.pause (paused_at, until, name, group_id) VALUES (now(), 'infinity', 'paused', '');
            ${delays('paused', 1, { wake_at: `now() - interval '2 h'` })}`,
    note: 'held',
    tells: (_all, line) =>
      expect(line).toMatchObject({ held: { count: 1 }, late: { count: 0 }, oldestLateMs: null }),
  },
  'a node that fell silent': {
    name: 'waits',
    plant: `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
            VALUES ('silent', '{waits}', false, now() - interval '1 h', now() - interval '12 min');
            ${delays('waits', 1, {})}`,
    note: 'nodeSilent',
    tells: ({ nodes }) =>
      expect(nodes).toContainEqual(expect.objectContaining({ name: 'silent', isSilent: true })),
  },
  'a node that is idle for an hour': {
    name: 'waits',
    plant: `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at, idle_until)
            VALUES ('idle', '{waits}', false, now() - interval '1 h', now() - interval '12 min', now() + interval '1 h');
            ${delays('waits', 1, {})}`,
    tells: ({ nodes, now }) => {
      const idle = nodes?.find(({ name }) => name === 'idle');
      expect(idle?.isSilent).toBe(false);
      expect(Date.parse(idle?.seenAt ?? '') < Date.parse(now)).toBe(true);
    },
  },
  'one that was discarded after its attempts': {
    name: 'discarded',
    plant: `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name)
            VALUES (1, now(), now(), now(), 1, 4, 'discarded', 'discarded')`,
    tells: (_all, line) => expect(line).toMatchObject({ retries: 3, discarded: 1 }),
  },
};

const NAMES = [...new Set(Object.values(STATES).map(({ name }) => name))].filter(
  (name) => name !== 'gone',
);

async function overviewOf(...states: readonly State[]): Promise<Overview> {
  await dashboard.dataSource.query(
    `TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.node, delay_queue.pause;
     INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     VALUES ('node', '{${NAMES.join(',')}}', false, now(), now());
     ${states.map(({ plant }) => plant).join(';')}`,
  );
  return (await dashboard.get<Overview>('api/overview')).body;
}

const NAMED = Object.entries(STATES);
const ALONE_AND_IN_PAIRS = NAMED.flatMap(([what, one], at) => [
  [what, [one]] as const,
  ...NAMED.slice(at + 1).map(([other, two]) => [`${what}, and ${other}`, [one, two]] as const),
]).filter(([, [one, two]]) => one?.name !== two?.name);

describe('the overview tells what is planted, and no headline denies it', () => {
  it.each(ALONE_AND_IN_PAIRS)('%s', async (_what, states) => {
    const overview = await overviewOf(...states);
    const line = (name: string): NameLine => overview.names.find((each) => each.name === name)!;
    for (const { name, tells } of states) tells(overview, line(name));
    const { health, names } = overview;
    expect(health?.status).toBe('up');
    const notes = health?.notes.map(({ reason }) => reason) ?? [];
    expect(new Set(notes)).toEqual(new Set(states.flatMap(({ note }) => note ?? [])));
    // What the page shows in amber or red has its note.
    expect(notes.includes('late')).toBe(names.some(tone));
    expect(notes.includes('deadLetters')).toBe(names.some(({ dead }) => dead.count > 0));
    expect(names.every(({ oldestLateMs }) => oldestLateMs === null || oldestLateMs < 60_000)).toBe(
      true,
    );
  });
});

it('a limit is shown before its first claim, and one that has room is no rate', async () => {
  const limits = async () => (await dashboard.get<Overview>('api/overview')).body.limits;
  const declared = {
    name: 'test.x',
    group: null,
    running: 0,
    of: 7,
    fullSince: null,
    nextAt: null,
  };
  expect(await limits()).toEqual([declared]);
  await dashboard.dataSource.query(
    `INSERT INTO delay_queue.quota (filled_at, tokens, name, group_id) VALUES (now(), 0, 'test.x', '')`,
  );
  expect(await limits()).toEqual([declared]);
});

const sorted = (ids: string[][]) => ids.map(String).toSorted();

/** Two errors of one kind: they differ by what is different each time. */
const ALIKE = [
  ['Error: order 42 is gone', 'Error: order 1043 is gone'],
  ['Error: connect ECONNREFUSED 10.0.0.1:5432', 'Error: connect ECONNREFUSED 10.0.12.7:5433'],
  ['Error: no route to fe80::1:5432', 'Error: no route to 10.0.0.1:5432'],
  [
    'Error: no lock for 3f2a9b1c-1aaa-2bbb-8ccc-123456789012',
    'Error: no lock for abcdefab-abcd-abcd-abcd-abcdefabcdef',
  ],
  ['Error: bad pointer 0x7ffee4c0', 'Error: bad pointer 0x7ffee4c8ff'],
  ['Error: expired at 2026-11-27T15:47:37.123Z', 'Error: expired at 2026-01-02T03:04:05Z'],
  [
    'Error: since Fri Nov 27 2026 15:47:37 GMT+0000',
    'Error: since Sat May 02 2026 01:02:03 GMT+0100',
  ],
  ['Error: since Fri, 27 Nov 2026 15:47:37 GMT', 'Error: since Mon, 02 Mar 2026 15:47:37 GMT'],
  ['Error: no such user ann.b@shop.example', 'Error: no such user bob+7@mail.example'],
  [
    'StripeError: No such intent: pi_3MtwBwLkdIwHu7ix',
    'StripeError: No such intent: pi_7NuxCxMleJxIv8jyZZ',
  ],
  ['Error: pod db-7f9c5b8d6c-x2x9q.shop is gone', 'Error: pod db-5d4b9fc7bb-q8k2z.shop is gone'],
  ['Error: no document 507f1f77bcf86cd799439011', 'Error: no document abcdefabcdefabcdefabcdef'],
  ['错误：订单42不存在', '错误：订单1043不存在'],
  [
    `Error: ${'x'.repeat(150)} 9 ${'y'.repeat(100)}`,
    `Error: ${'x'.repeat(150)} 10345 ${'y'.repeat(100)}`,
  ],
] as const;

/** Errors of kinds of their own. */
const APART = [
  "TypeError: Cannot read properties of undefined (reading 'total')",
  "TypeError: Cannot read properties of undefined (reading 'lines')",
  'Error: Decoded the row',
  'Error: Marked the row',
  String.raw`Error: 100% "odd" \_ # more`,
  'Error: order # is lost',
  '',
];

it('dead letters that differ by a number, an id, an address or an instant are one group', async () => {
  const errors = [...ALIKE.flat(), ...APART];
  await dashboard.dataSource.query(
    `TRUNCATE delay_queue.delay;
     ${delays('died', errors.length, { wake_at: `'infinity'`, attempts: '1' })}`,
  );
  await dashboard.dataSource.query(
    `UPDATE delay_queue.delay d SET last_error = NULLIF(e.text, '') || E'\\n    at handler'
     FROM unnest($1::text[]) WITH ORDINALITY AS e(text, n)
     WHERE e.n = (SELECT count(*) FROM delay_queue.delay b WHERE b.id <= d.id)`,
    [errors],
  );
  const { groups } = (await dashboard.get<DeadView>('api/dead')).body;
  const rows = await dashboard.dataSource.query<{ id: string; error: string | null }[]>(
    'SELECT id::text AS id, last_error AS error FROM delay_queue.delay ORDER BY id',
  );
  const wanted = [...ALIKE, ...APART.map((one) => [one])].map((kind) =>
    rows
      .filter((_row, at) => (kind as readonly string[]).includes(errors[at]!))
      .map(({ id }) => id),
  );
  const found: string[][] = [];
  for (const { search, sampleId, example, error, count } of groups) {
    const query = new URLSearchParams({
      name: 'died',
      state: 'dead',
      errorLine: search.errorLine!,
    });
    const { delays: its } = (await dashboard.get<SearchPage>(`api/search?${query.toString()}`))
      .body;
    found.push(its.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b)));
    expect([its.length, example]).toEqual([
      count.count,
      rows.find(({ id }) => id === sampleId)?.error ?? null,
    ]);
    // One error is shown as it is.
    const first = example?.split('\n')[0]?.slice(0, 200) ?? null;
    expect(its.length === 1 ? error === first : error?.includes('#')).toBe(true);
  }
  expect(sorted(found)).toEqual(sorted(wanted));
});

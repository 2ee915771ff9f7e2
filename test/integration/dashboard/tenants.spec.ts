import { beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { DashboardGrant } from 'nestjs-delay-queue/dashboard';
import { oneDashboard } from '../../support/one-dashboard.js';
import { operationWhen } from '../../support/dashboard-operations.js';
import { until } from '../../support/until.js';
import { grantOf, viewer } from './support/viewers.js';
import { RESOLVED_OPTIONS } from '../../support/engine-parts.js';
import {
  apiRoutes,
  type DashboardQueue,
  type OperationLine,
} from '../../support/dashboard-parts.js';

/** A word that stands in everything of one tenant, and nowhere else. */
const wordOf = (tenant: string): string => `${tenant}q${randomBytes(6).toString('hex')}`;

/** In a payload for which `redact` throws. */
const SECRET = wordOf('secret');

const dashboard = oneDashboard({
  dashboard: {
    authorize: grantOf,
    redact: (payload) => {
      throw new Error(`no rule for ${JSON.stringify(payload)}`);
    },
  },
});

let ours: string;
let theirs: string;
let ids: { ours: string[]; theirs: string[]; operations: string[] };

beforeEach(async () => {
  [ours, theirs] = [wordOf('ours'), wordOf('theirs')];
  await dashboard.dataSource.query(
    `TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.node, delay_queue.pause, delay_queue.quota,
              delay_queue.operation, delay_queue.operation_change`,
  );
  // Theirs come before ours, and hold what ours wait for.
  for (const [word, node] of [
    [theirs, theirs],
    [ours, theirs],
  ] as const) {
    await dashboard.dataSource.query(planted(word, node));
  }
  await dashboard.dataSource.query(
    `INSERT INTO delay_queue.pause (paused_at, until, name, group_id, reason, paused_by)
     VALUES (now(), now() + interval '1 h', 'both.paused', '', '${theirs} asked', '${theirs}-boss')`,
  );
  const of = async (sql: string): Promise<string[]> =>
    (await dashboard.dataSource.query<{ id: string }[]>(sql)).map(({ id }) => id);
  const delays = (word: string) =>
    of(`SELECT id::text AS id FROM delay_queue.delay WHERE group_id = '${word}'
        UNION SELECT id::text FROM delay_queue.history WHERE group_id = '${word}'`);
  ids = {
    ours: await delays(ours),
    theirs: await delays(theirs),
    operations: await of(`SELECT id::text AS id FROM delay_queue.operation`),
  };
});

let lastId = 0;

/** Everything that a tenant has, with its word in each text; a node of that name runs it. */
function planted(word: string, node: string): string {
  const texts = `'{"${word}": "${SECRET}"}'::jsonb, '{"${word}":"${word}"}'::jsonb, 'Error: ${word}' || E'\n at ${word}'`;
  const rows = ['both', 'both.paused', `${word}.own`].flatMap((name) => [
    [name, 'due', `now() - interval '1 h'`, '0', 'NULL, NULL'],
    [name, 'ahead', `now() + interval '1 h'`, '0', 'NULL, NULL'],
    [name, 'retry', `now() + interval '1 min'`, '1', 'NULL, NULL'],
    [name, 'runs', `now() - interval '1 h'`, '1', `now() + interval '1 h', '${node}-node'`],
    [name, 'orphan', `now() - interval '1 h'`, '1', `now() + interval '1 h', '${node}-left'`],
    [name, 'dead', `'infinity'`, '3', 'NULL, NULL'],
  ]);
  const operation = (lastId += 1);
  return `
    INSERT INTO delay_queue.delay (name, key, group_id, due_at, wake_at, created_at, attempts, leased_until, leased_by,
                                   payload, headers, last_error, attempt_log, move_log)
    SELECT r.name, r.key, '${word}', now(), r.wake_at, now(), r.attempts, r.leased_until, r.leased_by, t.*,
           '[{"attempt":1,"outcome":"failed","node":"${node}-node","startedMs":1,"endedMs":2,"error":"${word}"}]'::jsonb,
           '[{"call":"runNow","atMs":1,"fromMs":1,"toMs":2,"by":"${word}"}]'::jsonb
    FROM (VALUES ${rows.map(([name, key, ...rest]) => `('${name}', '${word}-${key}', ${rest.join(', ')})`).join(', ')})
           AS r(name, key, wake_at, attempts, leased_until, leased_by),
         (SELECT ${texts}) AS t(payload, headers, last_error);
    INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, group_id, node, error, ended_by)
    VALUES (${900_000 + operation}, now(), now(), now(), 1, 1, 'completed', 'both', '${word}-ended', '${word}', '${node}-node', 'Error: ${word}', '${word}');
    INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
    VALUES ('${word}-node', '{both,both.paused,${word}.own}', false, now(), now());
    INSERT INTO delay_queue.quota (filled_at, full_since, full_slots, tokens, name, group_id)
    VALUES (now(), now(), 1, 0, 'both', '${word}');
    INSERT INTO delay_queue.pause (paused_at, until, name, group_id, reason, paused_by)
    VALUES (now(), now() + interval '1 h', 'both', '${word}', '${word}', '${word}');
    INSERT INTO delay_queue.operation (id, started_at, seen_at, ended_at, action, who, node, why, asked, counts, ended_as, error, scope)
    SELECT n, now(), now(), now(), 'cancel', 'help desk', '${node}-node', '${word}', '{"which":{"filter":{"key":"${word}-due"}}}',
           '{"${word}":1}', 'failed', 'connect ECONNREFUSED ${node}-host', s::jsonb
    FROM (VALUES (${operation * 2}, '{"names":["${word}.own"],"groups":null}'), (${operation * 2 + 1}, '{"names":null,"groups":["${word}"]}')) o(n, s);
    INSERT INTO delay_queue.operation_change (operation_id, delay_id, ord, name, key, verdict)
    SELECT n, 1, 1, '${word}.own', '${word}-due', 'cancelled' FROM generate_series(${operation * 2}, ${operation * 2 + 1}) n`;
}

interface Words {
  /** Stands in names, keys, groups and texts. */
  word: string;
  ids: readonly string[];
  operations: readonly string[];
}

type Call = [path: string, body?: object];

const query = (path: string, parameters: Record<string, string>): Call => [
  `api/${path}?${new URLSearchParams(parameters).toString()}`,
];

const filters = (word: string): Record<string, string>[] => [
  { name: `${word}.own` },
  { name: 'both' },
  { group: word },
  { key: `${word}-due` },
  { keyPrefix: word },
  { error: word },
  { errorLine: `Error: ${word}` },
  { header: `${word}:${word}` },
  { q: word },
  { q: `${word}.own` },
  { q: `${word}-due` },
  { q: `${word}-ended`, state: 'completed' },
  { id: word },
  { state: word },
  { dueFrom: word },
];

const orders = ({ word, ids: of }: Words): object[] => [
  ...['runNow', 'cancel', 'abort', 'retry', 'discard'].flatMap((action) =>
    of.length > 0 ? [{ action, which: { ids: of } }] : [],
  ),
  { action: 'reschedule', which: { filter: { name: 'both', group: word } }, to: { after: '1h' } },
  { action: 'erase', which: { filter: { group: word } } },
  { action: 'erase', which: { filter: { key: `${word}-due` } } },
  { action: 'pause', name: 'both' },
  { action: 'pause', name: 'both', group: word },
  { action: 'pause', name: `${word}.own` },
  { action: 'resume', name: 'both.paused' },
  { action: 'resume', name: 'both', group: word },
  { action: 'create', name: 'both', key: `${word}-due`, payload: '1', after: '1h' },
  { action: 'create', name: 'both', group: word, key: `${word}-due`, payload: '1', after: '1h' },
  // In our own group, or name, with the key of another one.
  { action: 'create', name: 'both', group: ours, key: `${word}-due`, payload: '1', after: '1h' },
  { action: 'create', name: `${word}.own`, payload: '1', after: '1h' },
  { action: word },
];

/** What is asked of each route; a new route has no line, and so fails. */
const CALLS: Record<string, (words: Words) => Call[]> = {
  'GET session': () => [['api/session']],
  'GET overview': () => [['api/overview']],
  'GET search': ({ word }) => [
    ...['scheduled,running,retrying,dead', 'completed'].map((state) => query('search', { state })),
    ...filters(word).map((filter) => query('search', filter)),
  ],
  'GET delay': ({ word, ids: of }) => [...of, word].map((id) => query('delay', { id })),
  'GET story': ({ word }) =>
    ['due', 'runs', 'dead', 'ended'].map((key) => query('story', { key: `${word}-${key}` })),
  'GET dead': () => [['api/dead']],
  'GET names': () => [['api/names']],
  'GET live': () => [],
  'POST preview': (words) =>
    [
      ...orders(words),
      ...filters(words.word).map((filter) => ({ action: 'cancel', which: { filter } })),
    ].map((order) => ['api/preview', order]),
  'POST operations': (words) => orders(words).map((order) => ['api/operations', order]),
  'GET operations': () => [['api/operations'], query('operations', { after: '99999999' })],
  'GET operations/:id': ({ operations }) => operations.map((id) => [`api/operations/${id}`]),
  'POST operations/:id/stop': ({ operations }) =>
    operations.map((id) => [`api/operations/${id}/stop`, {}]),
};

/** How a viewer is limited to what is of one tenant. */
const LIMITS: Record<string, () => Partial<DashboardGrant>> = {
  'of a group': () => ({ groups: [ours] }),
  'of a name': () => ({ names: [`${ours}.own`] }),
  'of a group of a name': () => ({ names: ['both', 'both.paused', `${ours}.own`], groups: [ours] }),
};

interface Told {
  status: number;
  /** Status, headers and body, byte for byte. */
  all: string;
  body: string;
}

async function told([path, body]: Call, who: Record<string, string>): Promise<Told> {
  let answer =
    body === undefined
      ? await dashboard.get(path, who)
      : await dashboard.post<object>(path, body, who);
  // One that is answered before it has ended, on a busy machine, is read when it has.
  if (path === 'api/operations' && body !== undefined && answer.status === 200) {
    const { id } = answer.body as OperationLine;
    await operationWhen(dashboard, id, ({ endedAt }) => endedAt !== null);
    answer = await dashboard.get<object>(`api/operations/${id}`, who);
  }
  const text = JSON.stringify(answer.body);
  return { status: answer.status, body: text, all: [...answer.headers].join('\n') + text };
}

it('each route of the table is asked', () => {
  const queue = { database: { options: dashboard.app.get(RESOLVED_OPTIONS, { strict: false }) } };
  const parts = {
    options: queue.database.options,
    dashboard: {},
    closing: new AbortController().signal,
  };
  const routes = apiRoutes({ ...queue, ...parts } as unknown as DashboardQueue);
  expect(Object.keys(CALLS).toSorted()).toEqual(
    routes.map(({ method, path }) => `${method} ${path}`).toSorted(),
  );
});

const OURS = (): Words => ({ word: ours, ids: ids.ours, operations: ids.operations });
const THEIRS = (): Words => ({ word: theirs, ids: ids.theirs, operations: ids.operations });

describe.each(Object.keys(LIMITS))('a viewer %s', (limit) => {
  const grant = () => ({ who: 'help desk', ...LIMITS[limit]!() });

  it.each(Object.keys(CALLS))(
    'reads no word of others in what answers its own: %s',
    async (route) => {
      const heard = await live(grant());
      for (const call of CALLS[route]!(OURS())) {
        const { all, status } = await told(call, viewer(grant()));
        expect([status < 500, call, all.includes(theirs), all.includes(SECRET)]).toEqual([
          true,
          call,
          false,
          false,
        ]);
      }
      const events = await heard();
      expect([events.includes(theirs), events.includes(SECRET)]).toEqual([false, false]);
    },
  );

  it.each(Object.keys(CALLS))(
    'hears of what others have as of what there is not: %s',
    async (route) => {
      const none = wordOf('theirs');
      const nothing = { word: none, ids: ids.theirs.map((id) => `777${id}`), operations: [] };
      const unknown = CALLS[route]!(nothing);
      for (const [at, call] of CALLS[route]!({ ...THEIRS(), operations: [] }).entries()) {
        const [there, not] = [
          await told(call, viewer(grant())),
          await told(unknown[at]!, viewer(grant())),
        ];
        const shown = ({ status, body }: Told, word: string) => [
          status,
          body.replaceAll(word, '…').replaceAll(/\d+/g, '#'),
        ];
        expect([call, ...shown(there, theirs)]).toEqual([call, ...shown(not, none)]);
        // Nothing is told that was not asked.
        const asked = JSON.stringify(call).includes(theirs);
        expect([call, !asked && there.all.includes(theirs)]).toEqual([call, false]);
      }
    },
  );
});

/** All that a stream says until it is asked for, from the first overview on. */
async function live(grant: Partial<DashboardGrant>): Promise<() => Promise<string>> {
  const gone = new AbortController();
  const response = await fetch(new URL('api/live', dashboard.url), {
    headers: viewer(grant),
    signal: gone.signal,
  });
  let text = '';
  const reading = (async () => {
    for await (const chunk of response.body!.pipeThrough(
      new TextDecoderStream() as never,
    ) as unknown as AsyncIterable<string>)
      text += chunk;
  })().catch(() => {});
  return async () => {
    await until(
      async () => text,
      (said) => said.includes('event: overview'),
    );
    gone.abort();
    await reading;
    return text;
  };
}

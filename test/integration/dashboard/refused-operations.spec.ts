import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { IncomingMessage } from 'node:http';
import { Client } from 'pg';
import { DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import { insertDelays, ordered } from '../../support/dashboard-operations.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import {
  CHANGE_HEADER,
  DASHBOARD_ACTIONS,
  type DashboardAction,
  type OperationLine,
  type OperationsPage,
  type Preview,
  type Problem,
} from '../../support/dashboard-parts.js';

/** Who asks, by a header of the test. */
const VIEWER = 'x-viewer';
const as = (viewer: string) => ({ [VIEWER]: viewer });

const NAME = 'test.mine';
const FOREIGN = 'test.theirs';
const MINE = { filter: { name: NAME } };

const GRANTS: Record<string, Awaited<ReturnType<Authorize>>> = {
  all: { who: 'all', actions: 'all' },
  viewer: { who: 'viewer', actions: ['view'] },
  named: { who: 'named', actions: 'all', names: [NAME] },
  grouped: { who: 'grouped', actions: 'all', groups: ['group 1', 'group 2'] },
  named2: { who: 'named2', actions: 'all', names: [NAME] },
  ...Object.fromEntries(
    DASHBOARD_ACTIONS.map((action) => [
      `without ${action}`,
      { who: 'w', actions: DASHBOARD_ACTIONS.filter((each) => each !== action) },
    ]),
  ),
};

type Authorize = Extract<
  NonNullable<NonNullable<DashboardSetup['dashboard']>['authorize']>,
  (...given: never[]) => unknown
>;

const authorize: Authorize = ({ headers }) => GRANTS[String(headers[VIEWER])] ?? null;

let database: TestDatabase;
let client: Client;
let app: DashboardApp;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
beforeEach(async () => {
  await client.query(
    'TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.operation, delay_queue.operation_change, delay_queue.pause',
  );
});
afterEach(() => app.stop());
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function start(setup: Partial<DashboardSetup> = {}): Promise<void> {
  app = await DashboardApp.start({ url: database.url, dashboard: { authorize }, ...setup });
}

/** Everything that an operation could change. */
async function everything(): Promise<string> {
  const { rows } = await client.query<{ all: string }>(`
    SELECT jsonb_build_array(
      (SELECT jsonb_agg(d ORDER BY id) FROM delay_queue.delay d),
      (SELECT jsonb_agg(h ORDER BY id) FROM delay_queue.history h),
      (SELECT jsonb_agg(p) FROM delay_queue.pause p),
      (SELECT jsonb_agg(o ORDER BY id) FROM delay_queue.operation o))::text AS all`);
  return rows[0]!.all;
}

const ORDERS: Record<Exclude<DashboardAction, 'view' | 'viewPayloads'>, object> = {
  runNow: { action: 'runNow', which: MINE },
  reschedule: { action: 'reschedule', which: MINE, to: { after: '1h' } },
  cancel: { action: 'cancel', which: MINE },
  abort: { action: 'abort', which: MINE },
  retry: { action: 'retry', which: MINE },
  discard: { action: 'discard', which: MINE },
  erase: { action: 'erase', which: { filter: { name: NAME, key: `${NAME} 1` } } },
  pause: { action: 'pause', name: NAME },
  create: { action: 'create', name: NAME, payload: '1', after: '1h' },
};

describe('rights', () => {
  beforeEach(async () => {
    await start();
    await insertDelays(client, { name: NAME, many: 2 });
    await insertDelays(client, { name: FOREIGN, many: 2, dead: true });
  });

  it.each(Object.entries(ORDERS))(
    'without %s, that order does not exist',
    async (action, order) => {
      const before = await everything();
      for (const path of ['api/operations', 'api/preview']) {
        for (const viewer of [`without ${action}`, 'viewer', 'without view', 'a stranger']) {
          const answer = await app.post<Problem>(path, order, as(viewer));
          expect(answer).toMatchObject({ status: 404, body: { problem: 'notFound' } });
        }
      }
      expect(await everything()).toBe(before);
      expect(await app.post('api/operations', order, as('all'))).toMatchObject({ status: 200 });
    },
  );

  it('resume needs the right to pause', async () => {
    const resume = { action: 'resume', name: NAME };
    const answer = await app.post<Problem>('api/operations', resume, as('without pause'));
    expect(answer.status).toBe(404);
  });

  it('without a session, no operation can be seen or stopped', async () => {
    const { body } = await app.post<OperationLine>('api/operations', ORDERS.pause, as('all'));
    for (const path of ['api/operations', `api/operations/${body.id}`]) {
      expect((await app.get(path, as('a stranger'))).status).toBe(404);
    }
    const stop = `api/operations/${body.id}/stop`;
    expect((await app.post(stop, {}, as('a stranger'))).status).toBe(404);
    expect((await app.post(stop, {}, as('without pause'))).status).toBe(404);
  });

  it('a viewer with limits sees and stops only their own operations', async () => {
    const of = async (viewer: string) =>
      (await app.post<OperationLine>('api/operations', ORDERS.pause, as(viewer))).body.id;
    const [all, named, other] = [await of('all'), await of('named'), await of('named2')];
    const seen = async (viewer: string) =>
      (await app.get<OperationsPage>('api/operations', as(viewer))).body.operations.map(
        ({ id }) => id,
      );
    expect(await seen('all')).toEqual([other, named, all]);
    expect(await seen('named')).toEqual([named]);
    for (const id of [all, other]) {
      expect((await app.get(`api/operations/${id}`, as('named'))).status).toBe(404);
      expect((await app.post(`api/operations/${id}/stop`, {}, as('named'))).status).toBe(404);
    }
    expect((await app.post(`api/operations/${named}/stop`, {}, as('named'))).status).toBe(200);
  });
});

const retry = async (which: object, viewer: string) =>
  (await ordered(app, { action: 'retry', which }, as(viewer))).body;
const retriedIds = async () => (await app.admin.list({ state: 'scheduled' })).map(({ id }) => id);

describe('names and groups', () => {
  let mine: string[];
  let foreign: string[];

  beforeEach(async () => {
    await start();
    mine = await insertDelays(client, { name: NAME, many: 6, dead: true });
    foreign = await insertDelays(client, { name: FOREIGN, many: 6, dead: true });
  });

  it.each([
    ['by id', () => ({ ids: [...foreign, mine[0]!] }), { retried: 1, absent: 6 }],
    ['by a filter', () => ({ filter: { error: 'no' } }), { retried: 6 }],
    ['by a foreign name', () => ({ filter: { name: FOREIGN } }), {}],
    ['by the key of another name', () => ({ filter: { key: `${FOREIGN} 1` } }), { retried: 0 }],
  ])('another name is not reached %s', async (_how, which, counts) => {
    expect(await retry(which(), 'named')).toMatchObject({ state: 'done', counts });
    expect((await retriedIds()).filter((id) => foreign.includes(id))).toEqual([]);
    const preview = { action: 'retry', which: which() };
    const { body } = await app.post<Preview>('api/preview', preview, as('named'));
    expect(body.sample.filter(({ name }) => name === FOREIGN)).toEqual([]);
  });

  it('another group is not reached, by id or by filter', async () => {
    // 'group 0' is the third of three.
    expect((await retry({ filter: { group: 'group 0' } }, 'grouped')).counts).toEqual({});
    expect((await retry({ ids: mine }, 'grouped')).counts).toEqual({ retried: 4, absent: 2 });
    expect((await retry({ filter: { state: ['dead'] } }, 'grouped')).counts).toEqual({
      retried: 4,
    });
    const { rows } = await client.query(
      `SELECT DISTINCT group_id FROM delay_queue.delay WHERE wake_at = 'infinity'`,
    );
    expect(rows).toEqual([{ group_id: 'group 0' }]);
  });

  it.each([
    ['named', { name: FOREIGN }],
    ['grouped', { name: NAME }],
    ['grouped', { name: NAME, group: 'group 0' }],
  ])('%s can neither create nor pause nor resume %j', async (viewer, what) => {
    const before = await everything();
    for (const action of ['create', 'pause', 'resume']) {
      const order = { action, ...what, ...(action === 'create' && { payload: '1' }) };
      expect((await app.post('api/operations', order, as(viewer))).status).toBe(404);
      expect((await app.post('api/preview', order, as(viewer))).status).toBe(404);
    }
    expect(await everything()).toBe(before);
  });

  it.each(['named', 'grouped'])('%s may not erase, and is told why', async (viewer) => {
    const before = await everything();
    for (const path of ['api/operations', 'api/preview']) {
      const { status, body } = await app.post<Problem>(path, ORDERS.erase, as(viewer));
      expect([status, body]).toMatchObject([400, { problem: 'invalid', field: 'action' }]);
    }
    expect(await everything()).toBe(before);
  });

  it('a group of theirs can be paused', async () => {
    const order = { action: 'pause', name: NAME, group: 'group 1' };
    expect((await app.post('api/operations', order, as('grouped'))).status).toBe(200);
  });
});

const post = (body: unknown, headers: Record<string, string> = {}) =>
  app.post<Problem>('api/operations', body, { ...as('all'), ...headers });

const parsing =
  (parser: 'raw' | 'text') =>
  (host: INestApplication): void =>
    void (host as NestExpressApplication).useBodyParser(parser, { type: '*/*', limit: '1mb' });

it('a body that the application has read itself is refused, and says so', async () => {
  await start({
    prepare: (host) =>
      host.use((asked: IncomingMessage, _: unknown, next: () => void) =>
        asked.resume().once('end', next),
      ),
  });
  expect(await post(ORDERS.cancel)).toMatchObject({
    status: 400,
    body: {
      problem: 'invalid',
      message: 'The application has read the body before the dashboard could.',
    },
  });
});

describe.each([
  ['express', {}],
  ['fastify', {}],
  ['express without a body parser', { bodyParser: false }],
  ['fastify without a body parser', { bodyParser: false }],
  ['express that takes every body as bytes', { prepare: parsing('raw') }],
  ['express that takes every body as text', { prepare: parsing('text') }],
] as const)('on %s', (server, setup) => {
  beforeEach(async () => {
    await start({ server: server.startsWith('express') ? 'express' : 'fastify', ...setup });
    await insertDelays(client, { name: NAME, many: 2 });
  });

  it('takes an order', async () => {
    const { status, body } = await post(ORDERS.cancel);
    expect([status, body]).toMatchObject([200, { counts: { cancelled: 2 } }]);
  });

  it('takes the largest payload, of characters that are escaped twice', async () => {
    const payload = JSON.stringify('"'.repeat(32_000));
    const { status, body } = await ordered(app, { ...ORDERS.create, payload }, as('all'));
    expect([status, body]).toMatchObject([200, { counts: { scheduled: 1 } }]);
  });

  it.each<[string, Record<string, string>]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the site', { 'sec-fetch-site': 'same-site' }],
    ['a form', { 'content-type': 'text/plain', [CHANGE_HEADER]: '' }],
    ['no page of ours', { [CHANGE_HEADER]: '0' }],
  ])('refuses what comes from %s', async (_what, headers) => {
    const before = await everything();
    for (const path of ['api/operations', 'api/preview', 'api/operations/1/stop']) {
      const answer = await app.post<Problem>(path, ORDERS.cancel, { ...as('all'), ...headers });
      expect(answer).toMatchObject({ status: 403, body: { problem: 'forged' } });
    }
    expect(await everything()).toBe(before);
  });

  it.each<[string, unknown]>([
    ['of 300 kB', { ...ORDERS.create, payload: JSON.stringify('x'.repeat(300_000)) }],
    ['that is cut', '{"action": "cancel", "which"'],
    ['that is nested 50,000 deep', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['that is empty', ''],
  ])('refuses a body %s', async (_what, body) => {
    const before = await everything();
    const { status } = await post(body);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(await everything()).toBe(before);
    expect((await post(ORDERS.cancel)).status).toBe(200);
  });
});

const filter = (given: unknown) => ({ action: 'cancel', which: { filter: given } });
const erases = (given: object) => ({ action: 'erase', which: { filter: given } });
const ids = (given: unknown) => ({ action: 'cancel', which: { ids: given } });

describe('an order', () => {
  beforeEach(async () => {
    // Express would refuse some itself.
    await start({ bodyParser: false });
    await insertDelays(client, { name: NAME, many: 2, dead: true });
  });

  const move = (to: unknown) => ({ action: 'reschedule', which: MINE, to });
  const create = (given: object) => ({ ...ORDERS.create, ...given });

  it.each<[string, unknown, unknown]>([
    ['nothing', 'null', 'order'],
    ['a list', [], 'order'],
    ['a text', '"cancel"', 'order'],
    ['no action', { which: MINE }, 'action'],
    ['an unknown action', { action: 'drop', which: MINE }, 'action'],
    ['the name of a method', { action: 'constructor', which: MINE }, 'action'],
    ['an unknown member', { action: 'cancel', which: MINE, force: true }, 'order.force'],
    [
      'a prototype',
      '{"action": "cancel", "which": {"ids": ["1"]}, "__proto__": {}}',
      'order.__proto__',
    ],
    [
      'a prototype in its filter',
      '{"action":"cancel","which":{"filter":{"__proto__":{"name":"a"}}}}',
      'which.filter.__proto__',
    ],
    ['a member of another action', { action: 'cancel', which: MINE, to: {} }, 'order.to'],
    ['no delays', { action: 'cancel' }, 'which'],
    ['both kinds of delays', { action: 'cancel', which: { ids: ['1'], ...MINE } }, 'which'],
    ['a filter that matches all', filter({}), 'which.filter'],
    ['a filter of nothing', filter(null), 'which.filter'],
    ['an empty prefix', filter({ keyPrefix: '' }), 'which.filter.keyPrefix'],
    ['an unknown field', filter({ nmae: 'a' }), 'which.filter.nmae'],
    ['what only a search guesses', filter({ q: 'a' }), 'which.filter.q'],
    ['what has ended', filter({ state: ['completed'] }), 'which.filter.state'],
    ['when it ended', filter({ endedFrom: '2030-01-01T00:00:00Z' }), 'which.filter.endedFrom'],
    [
      'a name with a quote',
      filter({ name: `a'; DROP SCHEMA delay_queue; --` }),
      'which.filter.name',
    ],
    ['a name that is a list', filter({ name: [NAME] }), 'which.filter.name'],
    ['a key with NUL', filter({ key: 'a\u0000' }), 'which.filter.key'],
    [
      'a lone surrogate',
      '{"action":"cancel","which":{"filter":{"key":"\\ud800"}}}',
      'which.filter.key',
    ],
    ['a key that is an object', filter({ key: { $ne: '' } }), 'which.filter.key'],
    ['a day in words', filter({ dueFrom: 'today' }), 'which.filter.dueFrom'],
    ['the year 10000', filter({ dueFrom: '+010000-01-01T00:00:00Z' }), 'which.filter.dueFrom'],
    ['a header without a name', filter({ header: 'a' }), 'which.filter.header'],
    ['what belongs to all, to erase', erases({ name: NAME }), 'which.filter'],
    ['more than who it is, to erase', erases({ key: 'a', state: ['dead'] }), 'which.filter.state'],
    ['ids to erase', { action: 'erase', which: { ids: ['1'] } }, 'which.ids'],
    ['no ids', ids([]), 'which.ids'],
    ['too many ids', ids(Array.from({ length: 1_001 }, (_, n) => String(n + 1))), 'which.ids'],
    ['an id that is a number', ids([1]), 'which.ids.id'],
    ['an id that is none', ids(['1; DROP']), 'which.ids.id'],
    ['an id beyond all', ids(['9007199254740993']), 'which.ids.id'],
    ['ids that are a text', ids('1'), 'which.ids'],
    ['no time', move({}), 'to.after|at|extendBy'],
    ['two times', move({ after: '1h', extendBy: '1h' }), 'to.extendBy'],
    ['a negative time', move({ after: '-1h' }), 'to.after'],
    ['a time without a unit', move({ after: '60' }), 'to.after'],
    ['an instant that is none', move({ at: '2030-02-31' }), 'to.at'],
    ['a reason that is too long', { ...ORDERS.pause, why: 'x'.repeat(1_001) }, 'why'],
    ['a reason with NUL', { ...ORDERS.pause, why: '\u0000' }, 'why'],
    ['a pause for ever and a day', { ...ORDERS.pause, for: 'ever' }, 'for'],
    ['no payload', create({ payload: undefined }), 'payload'],
    ['a payload that is no JSON', create({ payload: '{a}' }), 'payload'],
    ['a payload that JSON would change', create({ payload: '12345678901234567890' }), 'payload'],
    ['a payload with NUL', create({ payload: '"\\u0000"' }), 'payload'],
    ['a payload of 70 kB', create({ payload: `"${'x'.repeat(70_000)}"` }), 'payload'],
    [
      'a payload nested 1,000 deep',
      create({ payload: '['.repeat(1_000) + ']'.repeat(1_000) }),
      expect.stringMatching(/^payload/),
    ],
    ['an empty key', create({ key: '' }), 'key'],
    ['two times of a new one', create({ at: '2030-01-01T00:00:00Z' }), 'at'],
  ])('is refused with %s', async (_what, order, field) => {
    const { rows: before } = await client.query('SELECT * FROM delay_queue.delay');
    const { status, body } = await app.post<Problem>('api/operations', order, as('all'));
    expect([status, body]).toMatchObject([400, { problem: 'invalid', field }]);
    expect(body.message.length).toBeLessThan(400);
    expect((await client.query('SELECT * FROM delay_queue.delay')).rows).toEqual(before);
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('name');
  });

  it.each(['a', '0', '-1', '1e3', '9007199254740993', 'null', '1.5'])(
    'the operation %s does not exist',
    async (id) => {
      expect((await app.get(`api/operations/${id}`, as('all'))).status).toBe(404);
      expect((await app.post(`api/operations/${id}/stop`, {}, as('all'))).status).toBe(404);
      expect((await app.get(`api/operations?after=${id}`, as('all'))).status).toBe(404);
    },
  );

  it('keeps hostile texts as they are, and as texts', async () => {
    const key = `<img src=x onerror=alert(1)>"'\\ \u202e 🦄 ${'k'.repeat(100)}`;
    const { body } = await ordered(
      app,
      { ...create({ key }), why: '</script><b>&amp;' },
      as('all'),
    );
    expect(body).toMatchObject({ state: 'done', why: '</script><b>&amp;', order: { key } });
    expect(await app.delays.find(NAME, key)).not.toBeNull();
  });
});

import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Answer, DashboardApp, type DashboardSetup } from '../../support/dashboard-app.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { plainHandler } from '../../support/delay-node.js';
import type { DelayView, NameChoice, SearchPage } from '../../support/dashboard-parts.js';

let database: TestDatabase;
let dashboard: DashboardApp | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await dashboard?.dataSource.query('TRUNCATE delay_queue.delay');
  await dashboard?.stop();
  dashboard = undefined;
});
afterAll(() => database.drop());

async function start(setup: Partial<DashboardSetup> = {}): Promise<DashboardApp> {
  dashboard = await DashboardApp.start({ url: database.url, ...setup });
  return dashboard;
}

/** Base64, so that the text in the row says nothing. */
const codec = {
  encode: (json: string) => Buffer.from(json).toString('base64'),
  decode: (text: string) => Buffer.from(text, 'base64').toString(),
};

async function shown(app: DashboardApp, payload: unknown): Promise<DelayView['payload']> {
  const { id } = await app.delays.schedule('test.x', payload as never, { after: '1h' });
  return (await app.get<DelayView>(`api/delay?id=${id}`)).body.payload;
}

it('a payload is decoded by the codec', async () => {
  const app = await start({ options: { worker: false, codec } });
  expect(await shown(app, { secret: 1 })).toEqual({ is: 'shown', json: '{"secret":1}' });
});

it('a payload that cannot be decoded says so, and hides nothing else', async () => {
  const app = await start({
    options: {
      worker: false,
      codec: {
        ...codec,
        decode: () => {
          throw new Error('no key');
        },
      },
    },
  });
  expect(await shown(app, 1)).toEqual({
    is: 'unreadable',
    message: expect.stringContaining('no key'),
  });
});

function redact(payload: unknown): unknown {
  const { kind, card } = payload as { kind: string; card: string };
  if (kind === 'fails') throw new Error('no rule');
  return kind === 'hidden' ? undefined : { card: card.slice(-4) };
}

it('a hook decides what is shown of a payload', async () => {
  const app = await start({ options: { worker: false, codec }, dashboard: { redact } });
  expect(await shown(app, { kind: 'card', card: '4242424242424242' })).toEqual({
    is: 'redacted',
    json: '{"card":"4242"}',
  });
  expect(await shown(app, { kind: 'hidden' })).toEqual({ is: 'hidden' });
  expect(await shown(app, { kind: 'fails' })).toMatchObject({ is: 'unreadable' });
});

it('a recurrence shows its next instants', async () => {
  const app = await start({ options: { worker: false } });
  const at = new Date('2090-01-01T00:00:00.000Z');
  const { id } = await app.delays.schedule('test.x', null, {
    at,
    key: 'k',
    repeat: { every: '1h' },
  });
  const { body } = await app.get<DelayView>(`api/delay?id=${id}`);
  expect(body.repeat).toMatchObject({ every: 3_600_000, cron: null });
  expect(body.repeat?.next.map((next) => Date.parse(next))).toHaveLength(5);
});

it('rows that no node could read break no page', async () => {
  const app = await start({ options: { worker: false } });
  await app.dataSource.query(String.raw`
    INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, attempts, epoch, last_error, headers, repeat, attempt_log, move_log)
    VALUES ('bad name', 'a', '1', '9999-12-31 23:59:59.999999+00', '-infinity', '-infinity', -1, -1, repeat('😀', 2000), '[1]', '7', '"x"', '{}'),
           ('bad name', 'b', '1', '0044-03-15 00:00:00+00 BC', 'infinity', 'infinity', 0, 0, E'\r\n', 'null', '{"every": "x"}', '[{"startedMs": "x"}]', '[7]'),
           ('bad name', 'c', '1', '20000-01-01 00:00:00+00', '20000-01-01 00:00:00+00', now(), 0, 0, NULL, NULL, NULL, NULL, NULL)`);
  const found: string[] = [];
  let after: string | null = '';
  while (after !== null) {
    const path = `api/search?limit=1${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`;
    const page: Answer<SearchPage> = await app.get<SearchPage>(path);
    expect(page.status).toBe(200);
    found.push(...page.body.delays.map(({ id, key }) => `${id} ${key}`));
    after = page.body.next;
  }
  expect(found.map((line) => line.split(' ')[1])).toEqual(['a', 'c', 'b']);
  for (const line of found) {
    const view = await app.get<DelayView>(`api/delay?id=${line.split(' ')[0]}`);
    expect(view.status).toBe(200);
  }
  for (const path of ['overview', 'dead', 'names', 'story?key=a', 'search?q=a']) {
    expect((await app.get(`api/${path}`)).status).toBe(200);
  }
});

it('a name has the JSON Schema of its payloads, if its schema can say it', async () => {
  const app = await start({
    providers: [plainHandler('test.a', () => {})],
    options: {
      payloads: {
        'test.a': z.object({ n: z.int() }),
        'test.x': z.string().transform((text) => text.length),
        'test.y': z.custom(() => true),
      },
    },
  });
  for (const name of ['test.x', 'test.y'] as const) {
    await app.delays.schedule(name, 'x', { after: '1h', key: 'k' });
  }
  const { body } = await app.get<NameChoice[]>('api/names');
  expect(body).toMatchObject([
    { name: 'test.a', isServed: true, schema: { type: 'object', required: ['n'] } },
    { name: 'test.x', isServed: false, schema: { type: 'string' } },
    { name: 'test.y', isServed: false, schema: null },
  ]);
});

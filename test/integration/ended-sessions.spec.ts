import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayOutcomeUnknownError } from 'nestjs-delay-queue';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import { type DelayNode, fencedHandler, plainHandler } from '../support/delay-node.js';
import { Stage } from './engine/support/stage.js';

/**
 * A balancer answers what the server has done by an error that ends the session. Its severity says
 * so; its SQLSTATE may be any: pgpool says XX000, "unable to read data from DB node 0".
 */
const NAME = 'test.a';
const ENDS = [
  ['FATAL', 'XX000'],
  ['PANIC', '22023'],
  ['ВАЖНО', '40001'],
] as const;

let stage: Stage;
let proxy: PostgresProxy;

beforeEach(async () => {
  stage = await Stage.open();
  proxy = await openProxy(stage.url);
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
});

afterEach(async () => {
  await stage.close();
  await proxy.close();
});

/** A claim that is forgotten would not come back within a test. */
const start = (...providers: ReturnType<typeof plainHandler>[]): Promise<DelayNode> =>
  stage.start({ database: { url: proxy.url }, options: { lease: '10m' }, providers });

it.each(ENDS)('%s %s: what a caller has written may be there', async (severity, code) => {
  const node = await start(plainHandler('test.other', () => {}));
  const many = ['b', 'c'].map(
    (key) => ({ name: NAME, payload: { n: 1 }, after: '1h', key }) as const,
  );
  await stage.sql(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
     VALUES ('${NAME}', 'b', '{}', '2099-01-01', '2099-01-01', now())`,
  );
  const calls: [text: string, call: () => Promise<unknown>][] = [
    [
      'INSERT INTO "delay_queue".delay',
      () => node.delays.schedule(NAME, { n: 1 }, { after: '1h', key: 'a' }),
    ],
    ['COMMIT', () => node.delays.scheduleMany(many)],
  ];
  for (const [text, call] of calls) {
    void proxy.endAt(text, severity, code);
    await expect(call()).rejects.toBeInstanceOf(DelayOutcomeUnknownError);
  }
  const rows = await stage.sql('SELECT key FROM delay_queue.delay ORDER BY key');
  expect(rows).toEqual(['a', 'b', 'c'].map((key) => ({ key })));
});

it('a claim that was committed is given back', async () => {
  const attempts: number[] = [];
  const node = await start(plainHandler(NAME, ({ attempt }) => void attempts.push(attempt)));
  const claimed = proxy.endAt('AS w(id, epoch, lease_ms', 'FATAL', 'XX000');
  const completed = node.next('completed');
  await node.delays.schedule(NAME, { n: 1 }, { after: 0, maxAttempts: 1 });
  await Promise.all([claimed, completed]);
  expect(attempts).toEqual([1]);
});

it('a handler whose COMMIT has happened has happened once', async () => {
  const write = 'INSERT INTO effect VALUES ($1)';
  const node = await start(
    fencedHandler(NAME, async ({ key }, { manager }) => void (await manager.query(write, [key]))),
  );
  const cut = proxy.endAt('COMMIT\0', 'FATAL', 'XX000');
  await node.delays.schedule(NAME, { n: 1 }, { after: 0, key: 'k' });
  await cut;
  await stage.noneLeft();
  expect(await stage.sql('SELECT key FROM effect')).toEqual([{ key: 'k' }]);
});

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Attributes } from '@opentelemetry/api';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { type DelayNode, plainHandler, signal } from '../../support/delay-node.js';
import { clientTelling } from '../../support/sent-statements.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';
import { Sdk } from '../../support/opentelemetry.js';

const sdk = new Sdk();
const OWN = 'messaging.nestjs_delay_queue.';
const RUNS = 'test.runs';
let stage: Stage;
let node: DelayNode;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const start = async (
  run: Parameters<typeof plainHandler>[1],
  more: Partial<Parameters<Stage['start']>[0]> & { name?: `test.${string}` } = {},
): Promise<void> => {
  const { name = RUNS, ...setup } = more;
  node = await stage.start({
    options: { telemetry: openTelemetry(), loadEvery: '100ms' },
    providers: [plainHandler(name, run, { concurrency: 1, maxAttempts: 2, backoff: () => 0 })],
    ...setup,
  });
};

/** The value of the one series that has these attributes. */
async function valueOf(metric: string, of: Attributes = {}): Promise<unknown> {
  const found = (await sdk.metric(metric)).filter(({ attributes }) =>
    Object.entries(of).every(([name, value]) => attributes[name] === value),
  );
  expect(found.length).toBeLessThanOrEqual(1);
  return found[0]?.value;
}

/** Waits until the series has that value. */
const reaches = (metric: string, wanted: number, of?: Attributes): Promise<unknown> =>
  until(
    () => valueOf(metric, of),
    (value) => value === wanted,
  );

const schedule = (key: string, name: `test.${string}` = RUNS): Promise<unknown> =>
  node.delays.schedule(name, null, { after: 0, key });

const isOfBacklog = (text: string): boolean =>
  /w\.oldest_ms|is_read_only|held_ms|is_vacuumed/.test(text);

const ofName = { 'messaging.destination.name': RUNS };

it('count what is scheduled, how it begins and how it ends', async () => {
  let isFailing = true;
  await start(() => {
    if (!isFailing) return;
    isFailing = false;
    throw new TypeError('no');
  });
  await schedule('1');
  await reaches(`${OWN}attempts`, 1, { ...ofName, [`${OWN}outcome`]: 'completed' });
  expect(await valueOf(`${OWN}attempts`, { [`${OWN}outcome`]: 'retrying' })).toBe(1);
  expect(await valueOf('messaging.client.sent.messages', ofName)).toBe(1);
  expect(await valueOf('messaging.client.consumed.messages', ofName)).toBe(2);
  // Of the first attempt alone.
  expect(await valueOf(`${OWN}lateness`, ofName)).toMatchObject({ count: 1 });
  const failed = { ...ofName, 'error.type': 'TypeError' };
  expect(await valueOf('messaging.process.duration', failed)).toMatchObject({ count: 1 });
  const called = { ...ofName, 'messaging.operation.name': 'schedule' };
  expect(await valueOf('messaging.client.operation.duration', called)).toMatchObject({ count: 1 });
  expect(await valueOf(`${OWN}statement.rows`, { [`${OWN}statement`]: 'claim' })).toBe(2);
});

it('show what runs, what waits and what is held, of which no scrape asks the database', async () => {
  const asked: string[] = [];
  const Client = clientTelling((text) => void asked.push(text));
  const producer = await stage.start({ options: { worker: false } });
  await producer.admin.pause('test.paused');
  await producer.delays.schedule('test.paused', null, { after: 0 });
  await producer.delays.schedule('test.unserved', null, { after: '30s' });
  await stage.sql('ALTER TABLE delay_queue.history SET (autovacuum_enabled = off)');
  const began = signal();
  const release = signal();
  await start(
    () => {
      began.resolve();
      return release.promise;
    },
    { Client },
  );
  await schedule('1');
  await began.promise;
  await schedule('2');
  const paused = { 'messaging.destination.name': 'test.paused', [`${OWN}held_by`]: 'pause' };
  await reaches(`${OWN}overdue`, 1, paused);
  expect(await valueOf(`${OWN}overdue.oldest`, paused)).toBeGreaterThan(0);
  await reaches(`${OWN}unhealthy`, 1, { [`${OWN}reason`]: 'autovacuumOff' });
  expect(await valueOf(`${OWN}due_within_minute`)).toBe(1);
  expect(await valueOf(`${OWN}dead_letters`)).toBe(0);
  expect(await valueOf(`${OWN}running`, ofName)).toBe(1);
  expect(await valueOf(`${OWN}concurrency`, ofName)).toBe(1);
  expect(await valueOf(`${OWN}ready`)).toBe(1);
  expect(
    await valueOf(`${OWN}connections`, { [`${OWN}connection.state`]: 'idle' }),
  ).toBeGreaterThan(0);
  const before = asked.filter(isOfBacklog).length;
  for (let scrape = 0; scrape < 20; scrape++) await sdk.metric(`${OWN}ready`);
  expect(asked.filter(isOfBacklog)).toHaveLength(before);
  release.resolve();
});

it('follow a meter provider that is set later', async () => {
  await sdk.stop();
  await start(() => {});
  const completed = node.next('completed');
  await schedule('1');
  await completed;
  sdk.start();
  await schedule('2');
  await reaches('messaging.client.consumed.messages', 1, ofName);
  expect(await valueOf(`${OWN}concurrency`, ofName)).toBe(1);
});

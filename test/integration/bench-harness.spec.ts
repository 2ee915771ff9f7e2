import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { readEnvironment } from '../../bench/harness/environment.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { until } from '../support/until.js';

interface Record {
  kind: string;
  system: string;
  metric?: string;
  value?: number;
}

/** What the contract wants of every adapter. */
const REQUIRED = [
  'claim_p50_ms',
  'claim_p95_ms',
  'claim_p99_ms',
  'enqueue_rate',
  'completion_rate',
  'queue_depth',
];

const MANIFEST = JSON.parse(
  readFileSync(new URL('../../bench/harness/adapter.json', import.meta.url), 'utf8'),
) as { system: string; event_tables: string[]; event_indexes: string[] };

let database: TestDatabase;

beforeEach(async () => {
  database = await createEmptyDatabase();
});
afterEach(() => database.drop());

const start = (env: { [name: string]: string }): NodeProcess =>
  NodeProcess.start('bench/harness/index.ts', {
    env: { DATABASE_URL: database.url, SCENARIO: 'long_horizon', SAMPLE_EVERY_S: '1', ...env },
  });

/** What it has told by whole lines; all else on its output is a log. */
const told = ({ output }: NodeProcess): Record[] =>
  output
    .slice(0, output.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record);

/** All values of a metric, when one is as it has to be. */
function valuesOnce(
  harness: NodeProcess,
  metric: string,
  isEnough: (value: number) => boolean,
): Promise<number[]> {
  return until(
    () => told(harness).flatMap((each) => (each.metric === metric ? [each.value ?? NaN] : [])),
    (values) => values.some(isEnough),
    { withinMs: 90_000, tell: () => harness.output.slice(-2_000) },
  );
}

it('adds jobs, works on them, tells what the contract asks for, and ends on SIGTERM', async () => {
  const harness = start({ PRODUCER_RATE: '200', WORKER_COUNT: '8', JOB_PAYLOAD_BYTES: '256' });
  await valuesOnce(harness, 'completion_rate', (rate) => rate > 0);
  await valuesOnce(harness, 'claim_p99_ms', (latency) => latency > 0);
  // A line of its own, which comes after the others.
  await valuesOnce(harness, 'queue_depth', () => true);
  const [descriptor, ...samples] = told(harness);
  expect(descriptor).toMatchObject({ kind: 'descriptor', event_tables: MANIFEST.event_tables });
  expect(new Set(samples.map(({ system }) => system))).toEqual(new Set([MANIFEST.system]));
  expect(samples.map(({ metric }) => metric)).toEqual(expect.arrayContaining(REQUIRED));

  const client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    'SELECT name AS missing FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL',
    [[...MANIFEST.event_tables, ...MANIFEST.event_indexes]],
  );
  await client.end();
  expect(rows).toEqual([]);
  expect(await harness.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

it('keeps as many jobs waiting as it is told to', async () => {
  const harness = start({
    PRODUCER_MODE: 'depth-target',
    TARGET_DEPTH: '40',
    PRODUCER_BATCH_MAX: '16',
    WORKER_COUNT: '1',
    JOB_WORK_MS: '200',
  });
  const depths = await valuesOnce(harness, 'queue_depth', (depth) => depth >= 39);
  expect(Math.max(...depths)).toBeLessThanOrEqual(40);
  await harness.kill('SIGTERM');
});

it('says which variable is not what the contract says', () => {
  expect(() => readEnvironment({ DATABASE_URL: database.url, PRODUCER_RATE: 'fast' })).toThrow(
    "PRODUCER_RATE is a number from 0, not 'fast'.",
  );
});

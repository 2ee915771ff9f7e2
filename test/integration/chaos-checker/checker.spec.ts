import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client as Session } from 'pg';
import { check, type Verdict } from '../../chaos/checker/check.js';
import { Client } from '../../chaos/load/client.js';
import { handlersOf } from '../../chaos/load/handlers.js';
import type { Wish } from '../../chaos/load/wishes.js';
import { ClientLog, loadClientLogs } from '../../chaos/record/client-log.js';
import { installRecord, type Sql } from '../../chaos/record/record.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startNode } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { ALSO, LIES } from './support/lies.js';

type Options = Partial<Wish['options']>;

const wish = (name: Wish['name'], token: string, options: Options = {}, rest = {}): Wish => ({
  name,
  payload: { token, ...rest },
  options: { after: 0, ...options } as Wish['options'],
});

const TOKENS = ['often', 'lonely', 'stays', 'tired', 'back', 'unseen', 'other', 'stray'];

const WISHES: readonly Wish[] = [
  ...TOKENS.map((token) => wish('chaos.plain', token)),
  ...Array.from({ length: 11 }, (_, n) => wish('chaos.rated', `rated ${n}`)),
  wish('chaos.limited', 'first', { group: 'g1' }),
  wish('chaos.limited', 'second', { after: '500ms', group: 'g1' }),
  wish('chaos.limited', 'paused', { group: 'g2' }),
  wish('chaos.plain', 'waits', { after: '1h' }),
  wish('chaos.plain', 'gone', { after: '1h', key: 'gone' }),
  wish('chaos.fenced', 'twice'),
  wish('chaos.odd', 'dead', { maxAttempts: 1 }, { act: 'always fails' }),
  wish('chaos.odd', 'retried', {}, { act: 'throws NUL' }),
  wish('chaos.chain', 'mother', {}, { left: 1 }),
  wish('chaos.chain', 'childless', {}, { left: 1 }),
];

let database: TestDatabase;
let session: Session;
let verdicts: Verdict[];

const sql: Sql = async (text, parameters) => (await session.query(text, parameters)).rows;

/** Beside those that are lied about, `mother` and her child have to be told apart from them. */
async function soundHistory(log: ClientLog): Promise<void> {
  const node = await startNode({
    url: database.url,
    providers: handlersOf({ nodeName: 'n1' }),
    options: { nodeName: 'n1', history: { attempts: true } },
  });
  const client = new Client(node.delays, node.dataSource, log);
  for (const each of WISHES) await client.alone(client.scheduling(each));
  await client.alone(client.cancelling('chaos.plain', 'gone'));
  await until(
    () => sql(`SELECT FROM delay_queue.delay WHERE wake_at < now() + interval '30 minutes'`),
    (left) => left.length === 0,
  );
  await node.stop();
}

beforeAll(async () => {
  database = await createTestDatabase();
  session = new Session({ connectionString: database.url });
  await session.connect();
  await installRecord(sql);
  const folder = await mkdtemp(join(tmpdir(), 'chaos-checker-'));
  const file = join(folder, 'client.jsonl');
  const log = new ClientLog(file, 'c');
  await soundHistory(log);
  const torn = { verb: 'schedule', name: 'chaos.plain', key: null, token: 'torn' } as const;
  log.invoke({ ...torn, inTransaction: true });
  log.close();
  await appendFile(file, '{"kind":"ok","call":"c');
  await loadClientLogs(sql, folder);
  await rm(folder, { recursive: true });
  for (const [, , lie] of Object.values(LIES)) await session.query(lie);
  ({ verdicts } = await check(sql, 10));
});

afterAll(async () => {
  await session.end();
  await database.drop();
});

it.each(Object.entries(LIES))('%s is told', (_, [number, says]) => {
  const about = verdicts.find(({ invariant }) => invariant === number);
  expect(about?.examples.join('\n')).toMatch(says);
});

it('nothing else is told', () => {
  const lies = [...Object.values(LIES).map(([invariant]) => invariant), ...ALSO];
  const told = verdicts.flatMap(({ invariant, violations }) =>
    Array.from({ length: violations }, () => invariant),
  );
  expect(told).toEqual(lies.toSorted((a, b) => a - b));
});

it('the torn last line of a process that was killed is forgiven', async () => {
  const torn = await sql(`SELECT outcome FROM chaos.client WHERE token = 'torn'`);
  expect(torn).toEqual([{ outcome: 'unknown' }]);
});

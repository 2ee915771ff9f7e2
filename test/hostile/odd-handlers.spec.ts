import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Stage } from '../integration/engine/support/stage.js';
import type { DelayNode } from '../support/delay-node.js';
import { NodeProcess } from '../support/node-process.js';
import type { OddNodeMessage } from './fixtures/odd-nodes.js';
import { ODD_HANDLERS, type NamedOddHandler } from './odd-handlers/index.js';
import { until } from '../support/until.js';

// oxlint-disable jest/expect-expect, jest/no-conditional-expect -- `runsOddly` expects what its case says

/** One node runs everything that is odd, one after the other; another one only schedules. */
let stage: Stage;
let producer: DelayNode;
let node: NodeProcess<OddNodeMessage>;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (name text NOT NULL, key text NOT NULL)');
  producer = await stage.start({ options: { worker: false } });
  node = NodeProcess.start('test/hostile/fixtures/odd-node.ts', {
    env: { HOSTILE_URL: stage.url },
  });
  await node.waitFor(({ event }) => event === 'ready');
});

afterAll(async () => {
  if (node.running) await node.kill('SIGKILL');
  await stage.close({ force: true });
});

const ENDS = new Set(['completed', 'dead', 'lost', 'postponed', 'superseded']);

const endOf = (name: string, key: string): Promise<OddNodeMessage> =>
  node.waitFor((told) => told.name === name && told.key === key && ENDS.has(told.event));

interface Row {
  dead: boolean;
  leased_by: string | null;
  last_error: string | null;
  attempts: number;
}

/** The row of the odd delay once nobody has it any more. */
const restingRow = async ({ name }: NamedOddHandler): Promise<Row | undefined> => {
  const rows = await until(
    () =>
      stage.sql<Row>(
        `SELECT wake_at = 'infinity' AS dead, leased_by, last_error, attempts
         FROM delay_queue.delay WHERE name = '${name}' AND key = 'odd'`,
      ),
    ([row]) => row?.leased_by == null,
  );
  return rows[0];
};

/** Nobody holds a transaction, a row or a table: what went back to the pool is clean. */
const noTransactionLeft = (): Promise<unknown> =>
  stage.until(
    `SELECT application_name, state, query FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`,
    (rows) => rows.length === 0,
  );

async function runsOddly(odd: NamedOddHandler): Promise<void> {
  const { name, maxAttempts = 2 } = odd;
  await producer.delays.schedule(name, { n: 1 }, { after: 0, key: 'odd' });
  const end = await endOf(name, 'odd');
  expect(odd.ends).toContain(end.event);
  await noTransactionLeft();

  const row = await restingRow(odd);
  // One that was lost runs again when its lease is over, until it has no attempt left.
  const isDead = row?.dead ?? false;
  expect(isDead).toBe(end.event === 'dead' || (end.event === 'lost' && row !== undefined));
  if (end.event === 'dead') {
    expect(row?.last_error).toMatch(odd.error ?? /./);
    expect(row?.last_error).toBe(end.error);
    expect(Buffer.byteLength(row?.last_error ?? '')).toBeLessThanOrEqual(4_096);
    expect(end.attempt).toBeLessThanOrEqual(maxAttempts);
  }
  if (odd.effects !== undefined) {
    const lines = await stage.sql('SELECT key FROM effect WHERE name = $1', [name]);
    const asItEnded = end.event === 'completed' ? 1 : 0;
    expect(lines).toHaveLength(odd.effects === 'as it ended' ? asItEnded : odd.effects);
  }

  // Its only slot is free, on whatever connection the odd one has left behind.
  await producer.delays.schedule(name, null, { after: 0, key: 'healthy' });
  expect(await endOf(name, 'healthy')).toMatchObject({ event: 'completed', attempt: 1 });
  await noTransactionLeft();
}

it.each(ODD_HANDLERS)('a handler that $what', (odd) => runsOddly(odd));

it('none of them has ended the process, which drains and ends as ever', async () => {
  expect(node.running).toBe(true);
  expect(await node.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(node.output).not.toMatch(/unhandled|uncaught/i);
  expect(await stage.sql('SELECT name FROM delay_queue.delay WHERE leased_by IS NOT NULL')).toEqual(
    [],
  );
});

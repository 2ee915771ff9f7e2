import { expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type DelayNode, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { OF_THIS_DATABASE } from '../../support/of-this-database.js';
import { until } from '../../support/until.js';
import { HastyClient } from '../engine/support/hasty-client.js';
import { EFFECT_TABLE, stageOfEach } from '../engine/support/stage-of-each.js';

/** How often each kind of statement is refused before it is let through. */
const REFUSALS = 3;

const stage = stageOfEach({ tables: EFFECT_TABLE });

/** Does it with a session of its own. */
async function withSession(work: (session: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: stage.url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

const startNode = (): Promise<DelayNode> =>
  stage.start({
    // Its limits are a tenth: whoever waits for a lock is given up after 1 s by the server, after 1.5 s by its client.
    database: { url: stage.url, extra: { max: 20, Client: HastyClient } },
    options: { maxAttempts: 20, lease: '10s', timeout: '10s' },
    providers: [
      plainHandler('test.plain', () => {}),
      fencedHandler('test.fenced', async ({ key }, { manager }) => {
        await manager.query('INSERT INTO effect VALUES ($1)', [key]);
      }),
    ],
  });

/** Of the engine, by default, and of the application's transactions. */
const CONNECTIONS = 3 + 2;

/** What the node told of its troubles: `claim 40001`. */
function troublesOf({ events }: DelayNode): string[] {
  const told: string[] = [];
  events.on('taskFailed', ({ task, error }) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    told.push(`${task} ${code}`);
  });
  events.on('taskRecovered', ({ task }) => told.push(`${task} works`));
  return told;
}

async function allDone(count: number): Promise<void> {
  await stage.noneLeft();
  const [done] = await stage.sql<{ completed: number }>(
    `SELECT count(*) FILTER (WHERE state = 'completed')::int AS completed FROM delay_queue.history`,
  );
  expect(done).toEqual({ completed: count });
}

/** The first claims of a row, and the first removals, fail with that SQLSTATE. */
async function refuseFirst(code: string): Promise<void> {
  await stage.sql(`
    CREATE SEQUENCE refused_claims;
    CREATE SEQUENCE refused_ends;
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
    BEGIN
      -- A sequence does not roll back.
      IF nextval(TG_ARGV[0]::regclass) <= ${REFUSALS} THEN
        RAISE EXCEPTION 'refused on purpose' USING ERRCODE = '${code}';
      END IF;
      RETURN COALESCE(NEW, OLD);
    END $$;
    CREATE TRIGGER refuse_claim BEFORE UPDATE ON delay_queue.delay FOR EACH ROW
    WHEN (OLD.leased_by IS NULL AND NEW.leased_by IS NOT NULL)
    EXECUTE FUNCTION refuse('refused_claims');
    CREATE TRIGGER refuse_end BEFORE DELETE ON delay_queue.delay FOR EACH ROW
    EXECUTE FUNCTION refuse('refused_ends')`);
}

it.each([
  ['40001', 'serialization failure'],
  ['57014', 'statement timeout'],
])(
  'statements that the server refuses with %s (%s) are tried again until they pass, and everything is done once',
  async (code) => {
    await refuseFirst(code);
    const node = await startNode();
    const troubles = troublesOf(node);
    await node.delays.schedule('test.plain', null, { after: 0, key: 'plain' });
    await allDone(1);
    // What was refused was not committed, so no attempt was spent on it.
    expect(await stage.sql('SELECT attempts FROM delay_queue.history')).toEqual([{ attempts: 1 }]);
    await until(
      () => troubles,
      (told) => told.includes('complete works'),
    );
    for (const task of ['claim', 'complete']) {
      // Of these alone: a busy machine may add others.
      expect(troubles.filter((told) => told === `${task} ${code}`)).toHaveLength(REFUSALS);
    }
    // What is refused alone says nothing of claims as such: they have worked all the time.
    expect(troubles.includes('claim works')).toBe(code !== '57014');

    // A transactional attempt whose last statement is refused rolls back as a whole.
    await stage.sql('ALTER SEQUENCE refused_ends RESTART');
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'fenced' });
    await allDone(2);
    expect(await stage.sql('SELECT key FROM effect')).toEqual([{ key: 'fenced' }]);
    expect(
      await stage.sql(`SELECT attempts FROM delay_queue.history WHERE key = 'fenced'`),
    ).toEqual([{ attempts: REFUSALS + 1 }]);
  },
);

it('a table is locked for long, and the database sets limits: the node keeps its own, says so and goes on', () =>
  withSession(async (locker) => {
    await stage.set({ lock_timeout: '200ms', statement_timeout: '200ms' });
    const node = await startNode();
    const troubles = troublesOf(node);
    await node.delays.scheduleMany(
      (['test.plain', 'test.fenced'] as const).map((name) => {
        return { name, payload: null, key: name, after: 1_000 };
      }),
    );
    await locker.query('BEGIN; LOCK TABLE delay_queue.delay IN SHARE MODE');
    // Of the engine's own sessions; what the database says is for others.
    await until(
      () => troubles,
      (told) => told.includes('claim 57014'),
    );
    // Whom nobody waits for any more does not wait for the lock either.
    const waiting = await stage.sql(
      `SELECT pid FROM pg_locks
       WHERE NOT granted AND relation = 'delay_queue.delay'::regclass AND ${OF_THIS_DATABASE}`,
    );
    expect(waiting.length).toBeLessThanOrEqual(CONNECTIONS);
    await locker.query('COMMIT');
    await allDone(2);
    expect(await stage.sql('SELECT key FROM effect')).toEqual([{ key: 'test.fenced' }]);
  }));

it('crossed locks: the engine loses the deadlock and goes on', () =>
  withSession(async (locker) => {
    // So that it is the engine's wait that finds the circle, and not ours.
    await locker.query(`SET deadlock_timeout = '60s'`);
    // Postgres looks for a circle once: the engine has to be in one by then, and is given up after 10 s.
    await stage.set({ deadlock_timeout: '3s' });
    const node = await stage.start({ providers: [plainHandler('test.plain', () => {})] });
    const troubles = troublesOf(node);
    await locker.query('BEGIN; LOCK TABLE delay_queue.history IN SHARE MODE');
    await node.delays.schedule('test.plain', null, { after: 0, key: 'k' });
    // Its completion has the table of delays and waits for that of history.
    await stage.until<{ waits: number }>(
      `SELECT count(*)::int AS waits FROM pg_locks
       WHERE NOT granted AND relation = 'delay_queue.history'::regclass AND ${OF_THIS_DATABASE}`,
      ([row]) => row?.waits === 1,
    );
    await locker.query('LOCK TABLE delay_queue.delay IN SHARE MODE');
    await until(
      () => troubles,
      (told) => told.includes('complete 40P01'),
    );
    await locker.query('COMMIT');
    await allDone(1);
    expect(await stage.sql('SELECT attempts FROM delay_queue.history')).toEqual([{ attempts: 1 }]);
  }));

it('a handler that succeeded does not run again while its result cannot be written', async () => {
  await stage.sql(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON delay_queue.history
    FOR EACH ROW EXECUTE FUNCTION refuse()`);
  const leaseMs = 1_000;
  let runs = 0;
  const node = await stage.start({
    options: { lease: leaseMs },
    providers: [plainHandler('test.plain', () => void (runs += 1))],
  });
  const completed = node.next('completed');
  await node.delays.schedule('test.plain', null, { after: 0 });
  // Held for more than one lease, by renewals alone.
  await stage.until<{ heldMs: number }>(
    `SELECT extract(epoch FROM leased_until - due_at)::float8 * 1000 AS "heldMs"
     FROM delay_queue.delay`,
    ([row]) => (row?.heldMs ?? 0) > 2 * leaseMs,
  );
  await stage.sql('DROP TRIGGER refuse ON delay_queue.history');
  expect(await completed).toMatchObject({ attempt: 1 });
  expect(runs).toBe(1);
});

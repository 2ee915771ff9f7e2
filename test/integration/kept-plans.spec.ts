import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import {
  expectById,
  expectByKey,
  expectByLimit,
  expectLittle,
  keylessStatement,
  type Statements,
  statementsById,
  statementsByKey,
  statementsOfExhausted,
  statementsOfLimits,
  statementsOfOne,
  statementsThatForget,
} from '../support/bulk-statements.js';
import { executionOf, explain, type Plan } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { FILLED, fillDelays, HORIZON_MS, OVERDUE, SERVED, SOON } from '../support/full-tables.js';
import {
  backlogSql,
  bring,
  callersSettings,
  engineSettings,
  loadSql,
  pruneSql,
  qualifiedTables,
  type SessionSettings,
  sweepSql,
} from '../support/statements.js';

// oxlint-disable jest/expect-expect -- `expectById` and `expectByKey` expect

/**
 * The engine's connections, and those of callers, keep the plan they made first, perhaps for an empty table. It must still
 * be the right one when the table has grown, and so must the one that new statistics bring.
 */
const tables = qualifiedTables('delay_queue');
const NODE = 'node-1';
const COUNT = 100;

const shares = [[SERVED], [1], [0]];
const BY_ID = { ...statementsById(COUNT), ...statementsOfExhausted(COUNT) };
const BY_KEY = statementsByKey(COUNT);
/** And many that are left out. */
const BY_GROUP = [[true], Array.from({ length: 1_000 }, (_, n) => `${SERVED} left out ${n}`)];
const BY_WAKE: Statements = {
  load: [
    loadSql(tables),
    [NODE, ...shares, Date.now(), 0, HORIZON_MS, 5_000, HORIZON_MS, false, null, 'i'],
  ],
  sweep: [sweepSql(tables), [...shares, null, 0, 500, 100, null, 1_000, null, 7]],
  loadWithGroups: [
    loadSql(tables, true),
    [NODE, ...shares, Date.now(), 0, HORIZON_MS, 5_000, HORIZON_MS, false, null, 'i', ...BY_GROUP],
  ],
  sweepWithGroups: [
    sweepSql(tables, true),
    [...shares, null, 0, 500, 100, null, 1_000, null, 7, ...BY_GROUP],
  ],
};
const OF_LIMITS = statementsOfLimits(COUNT);
const FORGETTING = statementsThatForget(COUNT);
const OF_ENGINE: Statements = {
  ...BY_ID,
  ...BY_WAKE,
  ...OF_LIMITS,
  ...FORGETTING,
  prune: [pruneSql(tables), [COUNT, '-infinity', 0, 0, 0, [], true, false]],
  backlog: [backlogSql(tables), [30_000, Array.from({ length: COUNT }, (_, n) => n + 1), 10_000]],
};
const OF_ONE = statementsOfOne();
const OF_CALLERS: Statements = { ...BY_KEY, ...OF_ONE, keyless: keylessStatement(COUNT) };

interface Sessions {
  engine: Client;
  callers: Client;
  filler: Client;
}

/** Sessions that made their plans when the table looked like that; it is full by now. */
function sessionsFrom(before: string): Sessions {
  const database = fileDatabase();
  const sessions = {} as Sessions;
  const prepared = async (settings: SessionSettings, statements: Statements): Promise<Client> => {
    const client = await database.connect();
    await bring(client, settings, 'session ends');
    for (const [name, [sql, parameters]] of Object.entries(statements)) {
      await client.query(`PREPARE "${name}" AS ${sql}`);
      await explain(client, executionOf(name, parameters), []);
    }
    return client;
  };
  beforeAll(async () => {
    sessions.filler = await database.connect();
    // A machine that takes longer than a minute would give the tables statistics when it likes.
    for (const table of FILLED.split(',')) {
      await sessions.filler.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
    }
    await sessions.filler.query(before);
    sessions.engine = await prepared(engineSettings(15_000), OF_ENGINE);
    sessions.callers = await prepared(callersSettings(15_000), OF_CALLERS);
    await fillDelays(sessions.filler, { analyzes: false });
  });
  return sessions;
}

/** As after months of traffic: a third of the rows lies elsewhere than its id would have it. */
const MOVE_A_THIRD = `
  WITH moved AS (DELETE FROM delay_queue.delay WHERE id % 3 = 0 RETURNING *)
  INSERT INTO delay_queue.delay OVERRIDING SYSTEM VALUE SELECT * FROM moved`;

describe.each([
  ['empty tables', ''],
  ['tables that were as good as empty, by their statistics', `ANALYZE ${FILLED}`],
])('plans made for %s', (_, before) => {
  const sessions = sessionsFrom(before);

  const planOf = async (session: 'engine' | 'callers', name: string): Promise<Plan> => {
    const statements = session === 'engine' ? OF_ENGINE : OF_CALLERS;
    const plan = await explain(sessions[session], executionOf(name, statements[name]![1]), []);
    // Every stock server older than 18 would, where it can at all: a plan without sequential scans
    // is dear there by definition.
    expect(plan.compiles).toBe(false);
    return plan;
  };

  describe.each([
    ['when it is full', []],
    // Whoever has a plan makes it anew.
    ['made anew with statistics', [`ANALYZE ${FILLED}`]],
    ['made anew when a third of the rows has moved', [MOVE_A_THIRD, `VACUUM (ANALYZE) ${FILLED}`]],
  ])('%s', (__, changes) => {
    beforeAll(async () => {
      for (const change of changes) await sessions.filler.query(change);
    });

    it('each is made once for all parameters', async () => {
      for (const [client, statements] of [
        [sessions.engine, OF_ENGINE],
        [sessions.callers, OF_CALLERS],
      ] as const) {
        const { rows } = await client.query<{ kept: number; custom: number }>(
          `SELECT count(*)::int AS kept, sum(custom_plans)::int AS custom FROM pg_prepared_statements`,
        );
        expect(rows).toEqual([{ kept: Object.keys(statements).length, custom: 0 }]);
      }
    });

    it.each(Object.keys(BY_ID))('%s uses the primary key', async (name) => {
      expectById(await planOf('engine', name), COUNT);
    });

    it.each(Object.keys(OF_LIMITS))('%s looks up each limit', async (name) => {
      expectByLimit(await planOf('engine', name), COUNT);
    });

    it.each(Object.keys(OF_ONE))('%s uses the primary key', async (name) => {
      expectById(await planOf('callers', name), 1);
    });

    it.each(Object.keys(FORGETTING))('%s reads no more than it may', async (name) => {
      expectLittle(await planOf('engine', name), COUNT);
    });

    it.each(Object.keys(BY_KEY))('%s finds its rows by their keys', async (name) => {
      expectByKey(await planOf('callers', name), COUNT);
    });

    it('an insert without keys reads nothing', async () => {
      const plan = await planOf('callers', 'keyless');
      expect(plan.waysInto('delay')).toEqual([]);
      expect(plan.buffers).toBeLessThan(60 + COUNT * 25);
    });

    it.each(Object.keys(BY_WAKE))(
      '%s walks the index of wakes between its bounds',
      async (name) => {
        const plan = await planOf('engine', name);
        for (const way of plan.waysInto('delay'))
          expect(way).toMatch(/^Index( Only)? Scan delay_wake$/);
        expect(plan.waysInto('delay')).toContain('Index Scan delay_wake');
        for (const { indexCond } of plan.scansOf('delay')) {
          expect(indexCond).toMatch(/ROW\((d\.)?wake_at, (d\.)?id\) > ROW\(/);
          expect(indexCond).toMatch(/wake_at <= /);
        }
        // A page for each row that is due, at most: it may lie anywhere.
        expect(plan.buffers).toBeLessThan(1_000 + OVERDUE + SOON);
      },
    );

    it('the backlog is read from its old end, and given ids by the primary key', async () => {
      const plan = await planOf('engine', 'backlog');
      const ways = plan.waysInto('delay');
      expect(ways).toContain('Index Scan delay_wake');
      expect(ways).not.toContain('Seq Scan undefined');
      const bitmaps = plan.nodes.filter(({ type }) => type === 'Bitmap Index Scan');
      expect(bitmaps.filter(({ index }) => index === 'delay_wake')).toEqual([]);
      // Each row is of a group of its own, whose limits are looked up.
      expect(plan.buffers).toBeLessThan(1_000 + OVERDUE * 5);
    });

    it('prune reads from the old end', async () => {
      const plan = await planOf('engine', 'prune');
      expect(plan.waysInto('history')).toContain('Index Scan history_pkey');
      expect(plan.buffers).toBeLessThan(COUNT * 30);
    });
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, escapeLiteral } from 'pg';
import {
  bring,
  callersSettings,
  engineSettings,
  type SessionSettings,
} from '../../src/delay-queue/database/session-settings.js';
import { completeOneSql } from '../../src/delay-queue/store/sql/attempts/complete.sql.js';
import { fenceOneSql } from '../../src/delay-queue/store/sql/attempts/fence.sql.js';
import { pruneSql } from '../../src/delay-queue/store/sql/history/prune.sql.js';
import { loadSql } from '../../src/delay-queue/store/sql/wakes/load.sql.js';
import { sweepSql } from '../../src/delay-queue/store/sql/wakes/sweep.sql.js';
import { tablesOf } from '../../src/delay-queue/store/tables/schema.js';
import {
  expectById,
  expectByKey,
  keylessStatement,
  type Statements,
  statementsById,
  statementsByKey,
} from '../support/bulk-statements.js';
import { explain } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { fillDelays, HORIZON_MS, OVERDUE, SERVED, SOON } from '../support/full-tables.js';

// oxlint-disable jest/expect-expect -- `expectById` and `expectByKey` expect

/**
 * The engine's connections, and those of callers, keep the plan they made first, perhaps for an empty table. It must still
 * be the right one when the table has grown, and so must the one that new statistics bring.
 */
const tables = tablesOf('delay_queue');
const NODE = 'node-1';
const COUNT = 100;

const shares = [[SERVED], [1], [0]];
const BY_ID = statementsById(COUNT);
const BY_KEY = statementsByKey(COUNT);
const BY_WAKE: Statements = {
  load: [
    loadSql(tables),
    [NODE, ...shares, Date.now(), 0, HORIZON_MS, 5_000, HORIZON_MS, false, null, 'i'],
  ],
  sweep: [sweepSql(tables), [...shares, null, 0, 500, 100, null, 1_000, null]],
};
const OF_ENGINE: Statements = { ...BY_ID, ...BY_WAKE, prune: [pruneSql(tables), [0, COUNT]] };
const OF_CALLERS: Statements = { ...BY_KEY, keyless: keylessStatement(COUNT) };

function executionOf(statements: Statements, name: string): string {
  const [, parameters] = statements[name] ?? ['', []];
  return `EXECUTE "${name}" (${parameters.map(literalOf).join(', ')})`;
}

function literalOf(value: unknown): string {
  if (value === null) return 'NULL';
  return escapeLiteral(
    Array.isArray(value) ? `{${value.map(itemOf).join()}}` : JSON.stringify(value),
  );
}

/** JSON within JSON is how an array's literal has texts. */
const itemOf = (item: unknown): string =>
  typeof item === 'string' ? JSON.stringify(item) : (JSON.stringify(item) ?? '');

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
    await bring(client, settings);
    for (const [name, [sql]] of Object.entries(statements)) {
      await client.query(`PREPARE "${name}" AS ${sql}`);
      await explain(client, executionOf(statements, name), []);
    }
    return client;
  };
  beforeAll(async () => {
    sessions.filler = await database.connect();
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
  ['an empty table', ''],
  ['a table that was as good as empty, by its statistics', 'ANALYZE delay_queue.delay'],
])('plans made for %s', (_, before) => {
  const sessions = sessionsFrom(before);

  describe.each([
    ['when it is full', []],
    // Whoever has a plan makes it anew.
    ['made anew with statistics', ['ANALYZE delay_queue.delay']],
    [
      'made anew when a third of the rows has moved',
      [MOVE_A_THIRD, 'VACUUM (ANALYZE) delay_queue.delay'],
    ],
  ])('%s', (__, changes) => {
    beforeAll(async () => {
      for (const change of changes) await sessions.filler.query(change);
    });

    it('is made once for all parameters', async () => {
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

    // Every stock server older than 18 would, where it can at all: a plan without sequential scans
    // is dear there by definition.
    it('none is compiled', async () => {
      for (const [client, statements] of [
        [sessions.engine, OF_ENGINE],
        [sessions.callers, OF_CALLERS],
      ] as const) {
        for (const name of Object.keys(statements)) {
          const { compiles } = await explain(client, executionOf(statements, name), []);
          expect([name, compiles]).toEqual([name, false]);
        }
      }
    });

    it.each(Object.keys(BY_ID))('%s uses the primary key', async (name) => {
      expectById(await explain(sessions.engine, executionOf(OF_ENGINE, name), []), COUNT);
    });

    it.each(Object.keys(BY_KEY))('%s finds its rows by their keys', async (name) => {
      expectByKey(await explain(sessions.callers, executionOf(OF_CALLERS, name), []), COUNT);
    });

    it('an insert without keys reads nothing', async () => {
      const plan = await explain(sessions.callers, executionOf(OF_CALLERS, 'keyless'), []);
      expect(plan.waysInto('delay')).toEqual([]);
      expect(plan.buffers).toBeLessThan(60 + COUNT * 25);
    });

    it.each(Object.keys(BY_WAKE))(
      '%s walks the index of wakes between its bounds',
      async (name) => {
        const plan = await explain(sessions.engine, executionOf(OF_ENGINE, name), []);
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

    it('prune reads from the old end', async () => {
      const plan = await explain(sessions.engine, executionOf(OF_ENGINE, 'prune'), []);
      expect(plan.waysInto('history')[0]).toBe('Index Scan history_pkey');
      expect(plan.buffers).toBeLessThan(COUNT * 30);
    });
  });
});

/** As Postgres decides it where nobody says which plans to keep: on the application's sessions. */
describe('a call of one delay', () => {
  const database = fileDatabase();
  let client: Client;
  beforeAll(async () => {
    client = await database.connect();
    await fillDelays(client);
  });

  it.each([
    ['fence', fenceOneSql(tables), [1, 0, 1_000]],
    ['removal', completeOneSql(tables, 'ends'), [1, 0, 1]],
    ['removal that keeps attempts', completeOneSql(tables, 'attempts'), [1, 0, 1]],
    ['removal without history', completeOneSql(tables, 'nothing'), [1, 0]],
  ])('%s is planned for the first times alone', async (name, sql, parameters) => {
    const TIMES = 10;
    await client.query('BEGIN');
    await client.query(`PREPARE "${name}" AS ${sql}`);
    await client.query('SAVEPOINT whole');
    for (let time = 0; time < TIMES; time += 1) {
      await client.query(executionOf({ [name]: [sql, parameters] }, name));
      // What was removed is there again.
      await client.query('ROLLBACK TO whole');
    }
    const { rows } = await client.query<{ kept: number }>(
      'SELECT generic_plans::int AS kept FROM pg_prepared_statements WHERE name = $1',
      [name],
    );
    const plan = await explain(client, executionOf({ [name]: [sql, parameters] }, name), []);
    await client.query('ROLLBACK');
    expect(rows).toEqual([{ kept: TIMES - 5 }]);
    expect(plan.waysInto('delay')).toEqual(['Index Scan delay_pkey']);
  });
});

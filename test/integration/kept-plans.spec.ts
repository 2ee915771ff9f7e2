import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, escapeLiteral } from 'pg';
import {
  bring,
  callersSettings,
  engineSettings,
  type SessionSettings,
} from '../../src/delay-queue/database/session-settings.js';
import { tablesOf } from '../../src/delay-queue/store/tables/schema.js';
import { exhaustedSql } from '../../src/delay-queue/store/sql/attempts/exhausted.sql.js';
import { cancelSql, cancelWaitingSql } from '../../src/delay-queue/store/sql/delays/cancel.sql.js';
import { claimSql } from '../../src/delay-queue/store/sql/attempts/claim.sql.js';
import { completeSql } from '../../src/delay-queue/store/sql/attempts/complete.sql.js';
import { loadSql } from '../../src/delay-queue/store/sql/wakes/load.sql.js';
import { lookAtSql } from '../../src/delay-queue/store/sql/attempts/look-at.sql.js';
import { scheduleTakenSql } from '../../src/delay-queue/store/sql/delays/schedule-taken.sql.js';
import {
  scheduleKeylessSql,
  scheduleNewSql,
} from '../../src/delay-queue/store/sql/delays/schedule-new.sql.js';
import { pruneSql } from '../../src/delay-queue/store/sql/history/prune.sql.js';
import { renewSql } from '../../src/delay-queue/store/sql/attempts/renew.sql.js';
import { rescheduleSql } from '../../src/delay-queue/store/sql/delays/reschedule.sql.js';
import { retrySql } from '../../src/delay-queue/store/sql/attempts/retry.sql.js';
import { sweepSql } from '../../src/delay-queue/store/sql/wakes/sweep.sql.js';
import { explain } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { fillDelays, FUTURE, HORIZON_MS, OVERDUE, SERVED, SOON } from '../support/full-tables.js';

/**
 * The engine's connections, and those of callers, keep the plan they made first, perhaps for an empty table. It must still
 * be the right one when the table has grown, and so must the one that new statistics bring.
 */
const tables = tablesOf('delay_queue');
const NODE = 'node-1';
const COUNT = 100;

const each = <Value>(value: Value): Value[] => Array.from({ length: COUNT }, () => value);
const ids = each(0).map((_, n) => 1 + n * Math.floor(FUTURE / COUNT));
const dueIds = each(0).map((_, n) => 1 + FUTURE + n);
const epochs = each(0);
const shares = [[SERVED], [1], [0]];

const BY_ID: Statements = {
  claim: [claimSql(tables), [dueIds, epochs, each(30_000), each(9), NODE]],
  lookAt: [lookAtSql(tables), [ids]],
  complete: [completeSql(tables, true), [ids, epochs, each(1)]],
  settle: [
    retrySql(tables),
    [ids, epochs, each(1), each(false), each(0), each(true), each('no'), NODE],
  ],
  renew: [renewSql(tables), [ids, epochs, 30_000]],
  bury: [exhaustedSql(tables), [ids, epochs, each(1), 'no']],
};
const names = each(SERVED);
const keys = ids.map((id) => `key ${id}`);
const nothing = each(null);
const items = (of: unknown[]): unknown[] => [
  names,
  of,
  each('{"n":1}'),
  each(3_600_000),
  nothing,
  nothing,
];
const BY_KEY: Statements = {
  place: [scheduleNewSql(tables, 'at once'), items(keys)],
  placeAgain: [scheduleTakenSql(tables, true, 'at once'), [...items(keys), each('replace')]],
  cancelWaiting: [cancelWaitingSql(tables, true), [names, keys]],
  cancel: [cancelSql(tables, true, 'at once'), [names, keys, null, null]],
  reschedule: [rescheduleSql(tables, 'at once'), [names, keys, each(1), nothing, nothing]],
};
const KEYLESS: [string, unknown[]] = [scheduleKeylessSql(tables), items(nothing)];
const nowMs = Date.now();
const BY_WAKE: Statements = {
  load: [
    loadSql(tables),
    [NODE, ...shares, nowMs, 0, HORIZON_MS, 5_000, HORIZON_MS, false, null, 'i'],
  ],
  sweep: [sweepSql(tables), [...shares, null, 0, 500, 100, null, 1_000, null]],
};
const PRUNE: [string, unknown[]] = [pruneSql(tables), [0, COUNT]];
const OF_ENGINE = { ...BY_ID, ...BY_WAKE, prune: PRUNE };
const OF_CALLERS = { ...BY_KEY, keyless: KEYLESS };

type Statements = Record<string, [sql: string, parameters: unknown[]]>;

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
      const plan = await explain(sessions.engine, executionOf(OF_ENGINE, name), []);
      for (const { type, index } of plan.scansOf('delay')) {
        expect(type).toMatch(/^(Bitmap )?Index( Only)? Scan$|^Bitmap Heap Scan$|^Tid Scan$/);
        expect(index ?? 'delay_pkey').toBe('delay_pkey');
      }
      expect(plan.buffers).toBeLessThan(60 + COUNT * 25);
      expect(plan.mismatches).toBeLessThan(COUNT);
    });

    it.each(Object.keys(BY_KEY))('%s finds its rows by their keys', async (name) => {
      const plan = await explain(sessions.callers, executionOf(OF_CALLERS, name), []);
      const ways = plan.waysInto('delay');
      expect(ways).toContain('Index Scan delay_key');
      const others =
        /^Index Scan delay_(key|pkey)$|^Bitmap (Heap|Index) Scan( delay_pkey)?$|^Tid Scan$/;
      expect(ways.filter((way) => !others.test(way.trim()))).toEqual([]);
      expect(plan.buffers).toBeLessThan(60 + COUNT * 60);
      expect(plan.mismatches).toBeLessThan(COUNT);
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

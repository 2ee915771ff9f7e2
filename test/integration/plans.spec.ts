import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { tablesOf } from '../../src/delay-queue/store/tables/schema.js';
import { exhaustedSql } from '../../src/delay-queue/store/sql/attempts/exhausted.sql.js';
import { cancelSql } from '../../src/delay-queue/store/sql/delays/cancel.sql.js';
import { claimSql } from '../../src/delay-queue/store/sql/attempts/claim.sql.js';
import { completeSql } from '../../src/delay-queue/store/sql/attempts/complete.sql.js';
import { fenceSql } from '../../src/delay-queue/store/sql/attempts/fence.sql.js';
import { findSql } from '../../src/delay-queue/store/sql/delays/find.sql.js';
import { historySql } from '../../src/delay-queue/store/sql/history/read.sql.js';
import { lookAtSql } from '../../src/delay-queue/store/sql/attempts/look-at.sql.js';
import { scheduleTakenSql } from '../../src/delay-queue/store/sql/delays/schedule-taken.sql.js';
import {
  scheduleAllNewSql,
  scheduleNewSql,
} from '../../src/delay-queue/store/sql/delays/schedule-new.sql.js';
import { pruneSql } from '../../src/delay-queue/store/sql/history/prune.sql.js';
import { renewSql } from '../../src/delay-queue/store/sql/attempts/renew.sql.js';
import { rescheduleSql } from '../../src/delay-queue/store/sql/delays/reschedule.sql.js';
import { retryDeadSql } from '../../src/delay-queue/store/sql/delays/retry-dead.sql.js';
import { retrySql } from '../../src/delay-queue/store/sql/attempts/retry.sql.js';
import { explain } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { FUTURE, OVERDUE, SERVED, fillDelays } from '../support/full-tables.js';

/** How each statement finds its rows in full tables, whatever the planner thinks it knows. */
const tables = tablesOf('delay_queue');
const NODE = 'node-1';
const BATCH = 500;

const database = fileDatabase();
let client: Client;

beforeAll(async () => {
  client = await database.connect();
  await fillDelays(client);
});

const each = <Value>(count: number, value: (n: number) => Value): Value[] =>
  Array.from({ length: count }, (_, n) => value(n));

/** Spread over the whole table, so that no neighbourhood makes it look cheap. */
const idsOf = (count: number): number[] => each(count, (n) => 1 + n * Math.floor(FUTURE / count));
const keysOf = (count: number): string[] => idsOf(count).map((id) => `key ${id}`);
const same = <Value>(count: number, value: Value): Value[] => each(count, () => value);

describe.each([1, BATCH, 5_000])('statements about %d rows by id use the primary key', (count) => {
  const ids = idsOf(count);
  const epochs = same(count, 0);
  const numbers = same(count, 30_000);
  const STATEMENTS: Record<string, [sql: string, parameters: unknown[]]> = {
    claim: [claimSql(tables), [ids, epochs, numbers, same(count, 9), NODE]],
    lookAt: [lookAtSql(tables), [ids]],
    complete: [completeSql(tables, true), [ids, epochs, numbers]],
    settle: [
      retrySql(tables),
      [
        ids,
        epochs,
        numbers,
        same(count, false),
        same(count, 0),
        same(count, true),
        same(count, 'no'),
        NODE,
      ],
    ],
    renew: [renewSql(tables), [ids, epochs, 30_000]],
    bury: [exhaustedSql(tables), [ids, epochs, same(count, 1), 'no']],
  };

  it.each(Object.keys(STATEMENTS))('%s', async (name) => {
    const [sql, parameters] = STATEMENTS[name] as [string, unknown[]];
    const plan = await explain(client, sql, parameters);
    for (const { type, index } of plan.scansOf('delay')) {
      expect(type).toMatch(/^(Bitmap )?Index( Only)? Scan$|^Bitmap Heap Scan$|^Tid Scan$/);
      expect(index ?? 'delay_pkey').toBe('delay_pkey');
    }
    // A page and its way through the index per row, and what is written: never the whole table.
    expect(plan.buffers).toBeLessThan(60 + count * 25);
    expect(plan.mismatches).toBeLessThan(count);
  });
});

it.each([1, BATCH])('the fence of %d rows uses the primary key', async (count) => {
  const plan = await explain(client, fenceSql(tables), [idsOf(count), same(count, 0), '1000']);
  expect(plan.waysInto('delay')).toEqual(['Index Scan delay_pkey']);
  expect(plan.buffers).toBeLessThan(10 + count * 10);
  expect(plan.mismatches).toBeLessThan(count);
});

describe.each([1, BATCH, 5_000])('statements about %d keys use the index of keys', (count) => {
  const names = same(count, SERVED);
  const keys = keysOf(count);
  const nothing = same(count, null);
  const hours = same(count, 3_600_000);
  const items = [names, keys, same(count, '{}'), hours, nothing, nothing];
  const STATEMENTS: Record<string, [sql: string, parameters: unknown[]]> = {
    cancel: [cancelSql(tables, true, 'waits'), [names, keys, null, null]],
    reschedule: [rescheduleSql(tables, 'waits'), [names, keys, hours, nothing, nothing]],
    place: [scheduleNewSql(tables, 'waits'), items],
    placeAll: [scheduleAllNewSql(tables), items],
    placeAgain: [scheduleTakenSql(tables, true, 'waits'), [...items, same(count, 'replace')]],
    placeAllAgain: [
      scheduleTakenSql(tables, true, 'waits', 'all or none'),
      [...items, same(count, 'replace')],
    ],
    'cancel a while': [cancelSql(tables, true, 'a while'), [names, keys, null, null]],
  };

  it.each(Object.keys(STATEMENTS))('%s', async (name) => {
    const [sql, parameters] = STATEMENTS[name] as [string, unknown[]];
    const plan = await explain(client, sql, parameters);
    const scans = plan.scansOf('delay');
    expect(scans.length).toBeGreaterThan(0);
    // The row that was found by its key is then written by its id.
    for (const { type, index, indexCond } of scans) {
      expect(type).toBe('Index Scan');
      expect(index).toMatch(/^delay_(key|pkey)$/);
      expect(indexCond).toMatch(index === 'delay_key' ? /name = .* AND .*key = / : /id = /);
    }
    expect(plan.waysInto('delay')).toContain('Index Scan delay_key');
    expect(plan.buffers).toBeLessThan(60 + count * 60);
    expect(plan.mismatches).toBeLessThan(count);
  });
});

it.each([
  ['find', findSql(tables)],
  ['retryDead', retryDeadSql(tables, 'waits')],
])('%s uses the index of keys', async (_name, sql) => {
  const plan = await explain(client, sql, [SERVED, 'key 5']);
  expect(plan.waysInto('delay')).toEqual(['Index Scan delay_key']);
  expect(plan.buffers).toBeLessThan(20);
});

describe('history', () => {
  it('of a key is found by its own index', async () => {
    const plan = await explain(client, historySql(tables), [SERVED, 'key 5', 100]);
    expect(plan.waysInto('history')).toEqual(['Index Scan history_key']);
    expect(plan.buffers).toBeLessThan(20);
  });

  it('is pruned from its old end, and nothing else is looked at', async () => {
    const none = await explain(client, pruneSql(tables), [365 * 86_400_000, BATCH]);
    expect(none.waysInto('history')[0]).toBe('Index Scan history_pkey');
    expect(none.buffers).toBeLessThan(30);
    const some = await explain(client, pruneSql(tables), [0, BATCH]);
    expect(some.waysInto('history')).toEqual(['Index Scan history_pkey', 'Tid Scan undefined']);
    expect(some.buffers).toBeLessThan(BATCH * 20);
  });
});

describe('a claim', () => {
  it('is a HOT update: it writes no indexed column and finds room on the page', async () => {
    let before = { all: 0, hot: 0 };
    /** Row versions written since the last look, and how many of them in place. */
    const updates = async () => {
      const { rows } = await client.query<{ all: number; hot: number }>(
        `SELECT pg_stat_get_xact_tuples_updated('delay_queue.delay'::regclass)::int AS all,
                pg_stat_get_xact_tuples_hot_updated('delay_queue.delay'::regclass)::int AS hot`,
      );
      const [{ all, hot } = before] = rows;
      const since = { all: all - before.all, hot: hot - before.hot };
      before = { all, hot };
      return since;
    };
    // The overdue ones lie side by side, as what comes due together does: full pages of them.
    const ids = each(BATCH, (n) => FUTURE + 1 + n);
    expect(BATCH).toBeLessThan(OVERDUE);
    const epochs = same(BATCH, 0);
    await client.query('BEGIN');
    await updates();
    const claim = [ids, epochs, same(BATCH, 30_000), same(BATCH, 9), NODE];
    const { rows } = await client.query<{ id: number; epoch: number }>(claimSql(tables), claim);
    expect(rows).toHaveLength(BATCH);
    const { all, hot } = await updates();
    expect(all).toBe(BATCH);
    // Nearly all: a leased row is a little larger, so the last one of a full page may not fit.
    expect(hot).toBeGreaterThan(BATCH * 0.8);
    // What moves `wake_at` cannot be one, which shows that the measurement measures.
    const [settle, numbers] = [retrySql(tables), same(BATCH, 1_000)];
    const moves = [same(BATCH, false), same(BATCH, 0), same(BATCH, true), same(BATCH, 'no')];
    await client.query(settle, [ids, same(BATCH, 1), numbers, ...moves, NODE]);
    expect(await updates()).toEqual({ all: BATCH, hot: 0 });
    await client.query('ROLLBACK');
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, escapeLiteral } from 'pg';
import { KEEP_PLANS_SQL } from '../../src/delay-queue/engine/prepared-statements.js';
import { tablesOf } from '../../src/delay-queue/store/schema.js';
import { burySql } from '../../src/delay-queue/store/sql/bury.sql.js';
import { claimSql } from '../../src/delay-queue/store/sql/claim.sql.js';
import { completeSql } from '../../src/delay-queue/store/sql/complete.sql.js';
import { loadSql } from '../../src/delay-queue/store/sql/load.sql.js';
import { lookAtSql } from '../../src/delay-queue/store/sql/look-at.sql.js';
import { pruneSql } from '../../src/delay-queue/store/sql/prune.sql.js';
import { renewSql } from '../../src/delay-queue/store/sql/renew.sql.js';
import { settleSql } from '../../src/delay-queue/store/sql/settle.sql.js';
import { sweepSql } from '../../src/delay-queue/store/sql/sweep.sql.js';
import { explain } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { fillDelays, FUTURE, HORIZON_MS, SERVED } from '../support/full-tables.js';

/**
 * The engine's connections keep the plan they made first, perhaps for an empty table. It must still
 * be the right one when the table has grown, and so must the one that new statistics bring.
 */
const tables = tablesOf('delay_queue');
const NODE = 'node-1';
const COUNT = 100;

const each = <Value>(value: Value): Value[] => Array.from({ length: COUNT }, () => value);
const ids = each(0).map((_, n) => 1 + n * Math.floor(FUTURE / COUNT));
const epochs = each(0);
const shares = [[SERVED], [1], [0]];

const BY_ID: Record<string, [sql: string, parameters: unknown[]]> = {
  claim: [claimSql(tables), [ids, epochs, each(30_000), each(9), NODE]],
  lookAt: [lookAtSql(tables), [ids]],
  complete: [completeSql(tables, true), [ids, epochs, each(1)]],
  settle: [settleSql(tables), [ids, epochs, each(1), each(false), each(0), each('no'), NODE]],
  renew: [renewSql(tables), [ids, epochs, 30_000]],
  bury: [burySql(tables), [ids, epochs, each(1), 'no']],
};
const nowMs = Date.now();
const BY_WAKE: Record<string, [sql: string, parameters: unknown[]]> = {
  load: [loadSql(tables), [NODE, ...shares, nowMs, 0, HORIZON_MS, 5_000, HORIZON_MS, false]],
  sweep: [sweepSql(tables), [...shares, null, 0, 500, 100, null, 1_000]],
};
const PRUNE: [string, unknown[]] = [pruneSql(tables), [0, COUNT]];
const ALL = { ...BY_ID, ...BY_WAKE, prune: PRUNE };

const database = fileDatabase();
let engine: Client;
let filler: Client;

beforeAll(async () => {
  engine = await database.connect();
  await engine.query(KEEP_PLANS_SQL);
  for (const [name, [sql]] of Object.entries(ALL)) {
    await engine.query(`PREPARE "${name}" AS ${sql}`);
    await explain(engine, executionOf(name), []);
  }
  filler = await database.connect();
  await fillDelays(filler, { analyzes: false });
});

const executionOf = (name: string): string => {
  const [, parameters] = ALL[name as keyof typeof ALL] ?? PRUNE;
  return `EXECUTE "${name}" (${parameters.map(literalOf).join(', ')})`;
};

function literalOf(value: unknown): string {
  if (value === null) return 'NULL';
  return escapeLiteral(Array.isArray(value) ? `{${value.join()}}` : JSON.stringify(value));
}

describe.each(['made for an empty table', 'made anew with statistics'])('a plan %s', (made) => {
  beforeAll(async () => {
    // Whoever has such a plan makes it anew.
    if (made === 'made anew with statistics') await filler.query('ANALYZE delay_queue.delay');
  });

  it('is made once for all parameters', async () => {
    const { rows } = await engine.query<{ kept: number; custom: number }>(
      `SELECT count(*)::int AS kept, sum(custom_plans)::int AS custom FROM pg_prepared_statements`,
    );
    expect(rows).toEqual([{ kept: Object.keys(ALL).length, custom: 0 }]);
  });

  it.each(Object.keys(BY_ID))('%s uses the primary key', async (name) => {
    const plan = await explain(engine, executionOf(name), []);
    for (const { type, index } of plan.scansOf('delay')) {
      expect(type).toMatch(/^(Bitmap )?Index( Only)? Scan$|^Bitmap Heap Scan$|^Tid Scan$/);
      expect(index ?? 'delay_pkey').toBe('delay_pkey');
    }
    expect(plan.buffers).toBeLessThan(60 + COUNT * 25);
  });

  it.each(Object.keys(BY_WAKE))('%s walks the index of wakes between its bounds', async (name) => {
    const plan = await explain(engine, executionOf(name), []);
    expect(plan.waysInto('delay')).toEqual(['Index Scan delay_wake']);
    for (const { indexCond } of plan.scansOf('delay')) {
      expect(indexCond).toMatch(/ROW\((d\.)?wake_at, (d\.)?id\) > ROW\(/);
      expect(indexCond).toMatch(/wake_at <= /);
    }
    expect(plan.buffers).toBeLessThan(1_000);
  });

  it('prune reads from the old end', async () => {
    const plan = await explain(engine, executionOf('prune'), []);
    expect(plan.waysInto('history')[0]).toBe('Index Scan history_pkey');
    expect(plan.buffers).toBeLessThan(COUNT * 30);
  });
});

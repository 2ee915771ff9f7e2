import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { tablesOf } from '../../src/delay-queue/store/tables/schema.js';
import { loadSql } from '../../src/delay-queue/store/sql/wakes/load.sql.js';
import { sweepSql } from '../../src/delay-queue/store/sql/wakes/sweep.sql.js';
import { explain, type Plan } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { fillDelays, HORIZON_MS, OVERDUE, SERVED, SOON } from '../support/full-tables.js';

/** The statements that nodes run over and over, in a table full of the future and of orphans. */
const tables = tablesOf('delay_queue');
const SHARES = [[SERVED], [1], [0]];
const GRACE_MS = 5_000;
const PAGE = 100;

const database = fileDatabase();
let client: Client;

beforeAll(async () => {
  client = await database.connect();
  await fillDelays(client);
});

const nowMs = async (): Promise<number> => {
  const { rows } = await client.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  return rows[0]?.ms ?? 0;
};

/**
 * The one walk through the rows in the order of their wakes; others look into the index alone. Both
 * bounds are the index's, not a filter's.
 */
function walkOf(plan: Plan): Plan['nodes'][number] {
  const scans = plan.scansOf('delay');
  for (const scan of scans) {
    expect(scan.type).toMatch(/^Index( Only)? Scan$/);
    expect(scan.index).toBe('delay_wake');
    expect(scan.indexCond).toMatch(/ROW\((d\.)?wake_at, (d\.)?id\) > ROW\(/);
    expect(scan.indexCond).toMatch(/wake_at <= /);
  }
  const walks = scans.filter(({ type }) => type === 'Index Scan');
  expect(walks).toHaveLength(1);
  return walks[0] as Plan['nodes'][number];
}

const load = async (fromMs: number, horizonMs: number, limit = 5_000) =>
  explain(client, loadSql(tables), [
    'node-1',
    ...SHARES,
    fromMs,
    0,
    horizonMs,
    limit,
    HORIZON_MS,
    false,
    null,
    'instance',
  ]);

const sweep = async (cursor: { ms: number | null; id: number }, scan: number, limit = PAGE) =>
  explain(client, sweepSql(tables), [
    ...SHARES,
    cursor.ms,
    cursor.id,
    scan,
    limit,
    null,
    1_000,
    null,
  ]);

describe('a load', () => {
  it('reads what lies between its mark and the horizon, and nothing of the rest', async () => {
    const plan = await load((await nowMs()) - GRACE_MS * 60, HORIZON_MS);
    const walk = walkOf(plan);
    expect(walk.rows).toBe(OVERDUE + SOON);
    expect(walk.removedByFilter).toBe(0);
    // A page of 8 KiB holds dozens of rows; without bounds it would be thousands of pages.
    expect(plan.buffers).toBeLessThan(1_000);
  });

  it('with nothing due costs a handful of pages', async () => {
    const plan = await load((await nowMs()) + 60_000, 120_000);
    expect(walkOf(plan).rows).toBe(0);
    expect(plan.buffers).toBeLessThan(25);
  });

  it('stops at its limit', async () => {
    const plan = await load((await nowMs()) - GRACE_MS * 60, HORIZON_MS, PAGE);
    expect(walkOf(plan).rows).toBe(PAGE);
    expect(plan.buffers).toBeLessThan(200);
  });
});

describe('a sweep', () => {
  it('looks at no more rows than it may, however many orphans lie in front', async () => {
    const plan = await sweep({ ms: null, id: 0 }, 1_000);
    expect(walkOf(plan).rows).toBe(1_000);
    expect(plan.buffers).toBeLessThan(1_200);
  });

  it('begins at its cursor, not at the front of the index, and ends with its page', async () => {
    const plan = await sweep({ ms: (await nowMs()) - 3_600_000, id: 0 }, 1_000);
    const walk = walkOf(plan);
    expect(walk.rows).toBe(PAGE);
    expect(walk.removedByFilter).toBe(0);
    expect(plan.buffers).toBeLessThan(1_200);
  });

  it('with nothing overdue costs a handful of pages', async () => {
    const plan = await sweep({ ms: (await nowMs()) + 60_000, id: 0 }, 10_000);
    expect(plan.scansOf('delay').map(({ rows }) => rows)).toEqual([0, 0]);
    expect(plan.buffers).toBeLessThan(25);
  });

  it('never goes beyond now', async () => {
    const plan = await sweep({ ms: (await nowMs()) - 3_600_000, id: 0 }, 10_000, 5_000);
    const { rows } = walkOf(plan);
    expect(rows).toBeGreaterThanOrEqual(OVERDUE);
    expect(rows).toBeLessThanOrEqual(OVERDUE + SOON);
    expect(plan.buffers).toBeLessThan(1_500);
  });

  it('gets past all orphans with its cursor and meets every served row once', async () => {
    let cursor: { ms: number | null; id: number } = { ms: null, id: 0 };
    const met: number[] = [];
    for (;;) {
      const { rows } = await client.query<{
        wakes: string;
        cursor_ms: number | null;
        cursor_id: number;
      }>(sweepSql(tables), [...SHARES, cursor.ms, cursor.id, 10_000, PAGE, null, 1_000, null]);
      const [page] = rows;
      if (page === undefined) throw new Error('no page');
      met.push(...(JSON.parse(page.wakes) as [number][]).map(([id]) => id));
      if (page.cursor_ms === null) break;
      cursor = { ms: page.cursor_ms, id: page.cursor_id };
    }
    expect(new Set(met).size).toBe(met.length);
    expect(met.length).toBeGreaterThanOrEqual(OVERDUE);
    expect(met.length).toBeLessThanOrEqual(OVERDUE + SOON);
  });
});

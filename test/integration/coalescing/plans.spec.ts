import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { tablesOf } from '../../../src/delay-queue/store/tables/schema.js';
import { cancelWaitingSql } from '../../../src/delay-queue/store/sql/delays/cancel.sql.js';
import {
  scheduleKeylessSql,
  scheduleNewSql,
} from '../../../src/delay-queue/store/sql/delays/schedule-new.sql.js';
import { explain } from '../../support/explain.js';
import { fileDatabase } from '../../support/file-database.js';
import { FUTURE, SERVED, fillDelays } from '../../support/full-tables.js';

/** How the statements of many calls find their rows in full tables. */
const tables = tablesOf('delay_queue');

const database = fileDatabase();
let client: Client;

beforeAll(async () => {
  client = await database.connect();
  await fillDelays(client);
});

describe.each([1, 50, 200])('for %d calls', (count) => {
  const each = <Value>(value: (n: number) => Value): Value[] =>
    Array.from({ length: count }, (_, n) => value(n));
  const names = each(() => SERVED);
  const keys = each((n) => `key ${1 + n * Math.floor(FUTURE / count)}`);
  const nothing = each(() => null);
  const items = (of: (string | null)[]): unknown[] => [
    names,
    of,
    each(() => '{}'),
    each(() => 3_600_000),
    nothing,
    nothing,
  ];

  it('a cancel looks each key up once, and removes its row by id', async () => {
    const plan = await explain(client, cancelWaitingSql(tables, true), [names, keys]);
    const ways = plan.waysInto('delay');
    expect(ways).toContain('Index Scan delay_key');
    expect(ways.filter((way) => !/ delay_(key|pkey)$|^Bitmap Heap Scan/.test(way))).toEqual([]);
    expect(plan.buffers).toBeLessThan(60 + count * 40);
  });

  it('an insert looks up the keys it has, and none without', async () => {
    const keyed = await explain(client, scheduleNewSql(tables, 'at once'), items(keys));
    expect(keyed.waysInto('delay')).toEqual(['Index Scan delay_key']);
    const keyless = await explain(client, scheduleKeylessSql(tables), items(nothing));
    expect(keyless.waysInto('delay')).toEqual([]);
    expect(keyless.buffers).toBeLessThan(60 + count * 25);
  });
});

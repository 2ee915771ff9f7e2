import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayFilter, GroupStats, GroupStatsOptions } from 'nestjs-delay-queue';
import { groupStatsSql } from '../../src/delay-queue/store/sql/stats/group-stats.sql.js';
import { matching, type RowFilter } from '../../src/delay-queue/store/sql/parts/filter.js';
import { tablesOf } from '../../src/delay-queue/store/tables/schema.js';
import { type Plan, explain } from '../support/explain.js';
import { fileDatabase } from '../support/file-database.js';
import { OneNode } from '../support/one-node.js';

/** `DelayAdmin.groupStats`: whose delays are late, dead, or many. */
const node = new OneNode({ options: { worker: false } });

/** One delay of each line, with the age in minutes of what is due; no handler runs here, so states are written. */
const FILL = `
  INSERT INTO delay_queue.delay
    (name, group_id, due_at, wake_at, created_at, attempts, leased_until, leased_by, payload)
  SELECT name, group_id, due, CASE WHEN is_dead THEN 'infinity' ELSE due END, now(), attempts,
         now() + lease * interval '1 minute', CASE WHEN lease IS NOT NULL THEN 'other' END, '{}'
  FROM (VALUES
    ('order.close', 'eu-1', -60, 0, NULL, false),
    ('order.close', 'eu-1',  -5, 0,   -1, false),
    ('order.close', 'eu-1',  -9, 1,   10, false),
    ('order.close', 'eu-1',  60, 0, NULL, false),
    ('order.close', 'eu-2',  60, 1, NULL, false),
    ('order.close', 'eu-2', -60, 3, NULL, true),
    ('order.close', 'eu-2', -60, 3, NULL, true),
    ('order.rate',  'eu-1', -90, 0, NULL, false),
    ('order.rate',  'us-1',  60, 0, NULL, false),
    ('order.rate',  NULL,   -60, 0, NULL, false)
  ) v(name, group_id, due_min, attempts, lease, is_dead),
  LATERAL (SELECT now() + due_min * interval '1 minute') d(due)`;

const NONE = { scheduled: 0, running: 0, retrying: 0, dead: 0, overdue: 0, oldestOverdueMs: null };

const namesOf = (groups: readonly GroupStats[]): string[] =>
  groups.map(({ name, group }) => `${name} ${group}`);

const MINUTE_MS = 60_000;

/** In minutes, rounded down: the test takes its time. */
const inMinutes = ({ oldestOverdueMs, ...group }: GroupStats) => ({
  ...group,
  oldestOverdueMs: oldestOverdueMs === null ? null : Math.floor(oldestOverdueMs / MINUTE_MS),
});

describe('groupStats', () => {
  beforeEach(() => node.sql(FILL));

  it('tells of each group of a name how much there is, those with the most overdue first', async () => {
    expect((await node.admin.groupStats()).map(inMinutes)).toEqual([
      {
        ...NONE,
        name: 'order.close',
        group: 'eu-1',
        scheduled: 3,
        running: 1,
        overdue: 2,
        oldestOverdueMs: 60,
        paused: false,
      },
      {
        ...NONE,
        name: 'order.rate',
        group: 'eu-1',
        scheduled: 1,
        overdue: 1,
        oldestOverdueMs: 90,
        paused: false,
      },
      { ...NONE, name: 'order.close', group: 'eu-2', retrying: 1, dead: 2, paused: false },
      { ...NONE, name: 'order.rate', group: 'us-1', scheduled: 1, paused: false },
    ]);
  });

  it.each<[NonNullable<GroupStatsOptions['orderBy']>, string[]]>([
    ['total', ['order.close eu-1', 'order.close eu-2', 'order.rate eu-1', 'order.rate us-1']],
    ['scheduled', ['order.close eu-1', 'order.rate eu-1', 'order.rate us-1', 'order.close eu-2']],
    ['running', ['order.close eu-1', 'order.close eu-2', 'order.rate eu-1', 'order.rate us-1']],
    ['retrying', ['order.close eu-2', 'order.close eu-1', 'order.rate eu-1', 'order.rate us-1']],
    ['dead', ['order.close eu-2', 'order.close eu-1', 'order.rate eu-1', 'order.rate us-1']],
    ['overdue', ['order.close eu-1', 'order.rate eu-1', 'order.close eu-2', 'order.rate us-1']],
    [
      'oldestOverdueMs',
      ['order.rate eu-1', 'order.close eu-1', 'order.close eu-2', 'order.rate us-1'],
    ],
  ])('by %s', async (orderBy, order) => {
    expect(namesOf(await node.admin.groupStats({}, { orderBy }))).toEqual(order);
    const [first, second] = order;
    expect(namesOf(await node.admin.groupStats({}, { orderBy, limit: 2 }))).toEqual([
      first,
      second,
    ]);
  });

  it.each<[DelayFilter, string[]]>([
    [{ name: 'order.rate' }, ['order.rate eu-1', 'order.rate us-1']],
    [{ group: 'eu-1' }, ['order.close eu-1', 'order.rate eu-1']],
    [{ groupPrefix: 'eu-', name: 'order.close' }, ['order.close eu-1', 'order.close eu-2']],
    [{ groupPrefix: '_' }, []],
    [{ state: 'dead' }, ['order.close eu-2']],
  ])('of %j alone', async (filter, found) => {
    expect(namesOf(await node.admin.groupStats(filter))).toEqual(found);
  });

  it('counts only what matches', async () => {
    expect(await node.admin.groupStats({ state: 'dead' })).toMatchObject([
      { retrying: 0, dead: 2 },
    ]);
  });

  it('says which groups are paused, by themselves or by their name', async () => {
    await node.admin.pause('order.rate', {});
    await node.admin.pause('order.close', { group: 'eu-2' });
    await node.admin.pause('order.close', { group: 'nobody' });
    const paused = (await node.admin.groupStats()).filter((group) => group.paused);
    await node.sql('TRUNCATE delay_queue.pause');
    expect(namesOf(paused)).toEqual(['order.rate eu-1', 'order.close eu-2', 'order.rate us-1']);
  });

  it('sees what its transaction has written', async () => {
    await node.dataSource.transaction(async (manager) => {
      await node.delays.schedule('test.new', {}, { after: 0, group: 'eu-9', manager });
      expect(await node.admin.groupStats({ group: 'eu-9' }, { manager })).toHaveLength(1);
      expect(await node.admin.groupStats({ group: 'eu-9' })).toEqual([]);
    });
  });

  it.each([
    [{ orderBy: 'late' }, 'orderBy', 'must be one of total, scheduled, running, retrying, dead,'],
    [{ orderBy: 'name; DROP TABLE' }, 'orderBy', 'must be one of'],
    [{ orderBy: null }, 'orderBy', 'must be one of'],
    [{ limit: 0 }, 'limit', '1 to 1000'],
    [{ limit: 1_001 }, 'limit', '1 to 1000'],
    [{ prefix: 'eu-' }, 'options.prefix', 'there are orderBy, limit, manager'],
  ])('refuses %j', async (options, field, why) => {
    await expect(node.admin.groupStats({}, options as object)).rejects.toMatchObject({
      field,
      why: expect.stringContaining(why),
    });
  });

  it('refuses a filter that names no field of a delay', async () => {
    const filter = { tenant: 'eu-1' } as DelayFilter;
    await expect(node.admin.groupStats(filter)).rejects.toMatchObject({ field: 'filter.tenant' });
  });
});

describe('groupStats in a full table', () => {
  const GROUPS = 1_000;
  const EACH = 100;
  const file = fileDatabase();

  async function planOf(filter: RowFilter): Promise<Plan> {
    const client = await file.connect();
    await client.query(`
      INSERT INTO delay_queue.delay (name, group_id, payload, due_at, wake_at, created_at)
      SELECT 'test.full', 'm-' || lpad((n % ${GROUPS})::text, 4, '0'), '{}', at, at, now()
      FROM generate_series(1, ${GROUPS * EACH}) n, LATERAL (SELECT now() + n * interval '1 s') t(at)`);
    await client.query('VACUUM ANALYZE delay_queue.delay');
    const { sql, parameters } = matching(filter, 2);
    const statement = groupStatsSql(tablesOf('delay_queue'), sql, 'overdue');
    const plan = await explain(client, statement, [100, ...parameters]);
    await client.query('TRUNCATE delay_queue.delay');
    return plan;
  }

  it.each<[string, RowFilter, groups: number]>([
    ['one group', { group: 'm-0500' }, 1],
    ['the last groups', { groupPrefix: 'm-099' }, 10],
    ['dead letters', { states: ['dead'] }, 0],
  ])('reads of %s no other row', async (_what, filter, groups) => {
    const plan = await planOf(filter);
    expect(plan.scansOf('delay').map(({ type }) => type)).not.toContain('Seq Scan');
    const read = plan.scansOf('delay').reduce((total, { rows }) => total + rows, 0);
    expect(read).toBeLessThanOrEqual(groups * EACH);
    expect(plan.buffers).toBeLessThan(groups * EACH * 1.2 + 50);
  });
});

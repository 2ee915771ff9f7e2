import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayFilter, GroupStats, GroupStatsOptions } from 'nestjs-delay-queue';
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

const NONE = {
  scheduled: 0,
  running: 0,
  retrying: 0,
  dead: 0,
  overdue: 0,
  oldestOverdueMs: null,
  paused: false,
  limited: false,
};

const namesOf = (groups: readonly GroupStats[]): string[] =>
  groups.map(({ name, group }) => `${name} ${group}`);

const EU_1 = 'order.close eu-1';
const EU_2 = 'order.close eu-2';
const RATE_EU = 'order.rate eu-1';
const RATE_US = 'order.rate us-1';

describe('groupStats', () => {
  beforeEach(() => node.sql(FILL));

  it('tells of each group of a name how much there is, those with the most overdue first', async () => {
    const groups = await node.admin.groupStats();
    // In minutes, rounded down: the test takes its time.
    const minutes = groups.map(({ oldestOverdueMs: ms }) => ms && Math.floor(ms / 60_000));
    expect(minutes).toEqual([60, 90, null, null]);
    const overdue = { oldestOverdueMs: expect.any(Number) };
    const [close, rate] = [{ name: 'order.close' }, { name: 'order.rate' }];
    expect(groups).toEqual([
      { ...NONE, ...close, group: 'eu-1', scheduled: 3, running: 1, overdue: 2, ...overdue },
      { ...NONE, ...rate, group: 'eu-1', scheduled: 1, overdue: 1, ...overdue },
      { ...NONE, ...close, group: 'eu-2', retrying: 1, dead: 2 },
      { ...NONE, ...rate, group: 'us-1', scheduled: 1 },
    ]);
  });

  it.each<[NonNullable<GroupStatsOptions['orderBy']>, string[]]>([
    ['total', [EU_1, EU_2, RATE_EU, RATE_US]],
    ['scheduled', [EU_1, RATE_EU, RATE_US, EU_2]],
    ['running', [EU_1, EU_2, RATE_EU, RATE_US]],
    ['retrying', [EU_2, EU_1, RATE_EU, RATE_US]],
    ['dead', [EU_2, EU_1, RATE_EU, RATE_US]],
    ['overdue', [EU_1, RATE_EU, EU_2, RATE_US]],
    ['oldestOverdueMs', [RATE_EU, EU_1, EU_2, RATE_US]],
  ])('by %s', async (orderBy, order) => {
    expect(namesOf(await node.admin.groupStats({}, { orderBy }))).toEqual(order);
    const two = await node.admin.groupStats({}, { orderBy, limit: 2 });
    expect(namesOf(two)).toEqual(order.slice(0, 2));
  });

  it('counts only what matches', async () => {
    const close = { groupPrefix: 'eu-', name: 'order.close' } as const;
    expect(namesOf(await node.admin.groupStats(close))).toEqual([EU_1, EU_2]);
    const found = { group: 'eu-2', retrying: 0, dead: 2 };
    expect(await node.admin.groupStats({ state: 'dead' })).toMatchObject([found]);
  });

  it('says which groups are paused, by themselves or by their name', async () => {
    await node.admin.pause('order.rate', {});
    await node.admin.pause('order.close', { group: 'eu-2' });
    await node.admin.pause('order.close', { group: 'nobody' });
    const paused = (await node.admin.groupStats()).filter((group) => group.paused);
    await node.sql('TRUNCATE delay_queue.pause');
    expect(namesOf(paused)).toEqual([RATE_EU, EU_2, RATE_US]);
  });

  it('sees what its transaction has written', async () => {
    const { manager } = await node.begin();
    await node.delays.schedule('test.new', {}, { after: 0, group: 'eu-9', manager });
    expect(await node.admin.groupStats({ group: 'eu-9' }, { manager })).toHaveLength(1);
    expect(await node.admin.groupStats({ group: 'eu-9' })).toEqual([]);
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

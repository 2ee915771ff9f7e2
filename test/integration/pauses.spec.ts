import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayName, PauseOptions } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler } from '../support/delay-node.js';
import { heldCode } from '../support/held-code.js';
import { OneNode } from '../support/one-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

const NAME = 'test.paused';
const NOW = { after: 0 } as const;

let stage: Stage;
let first: DelayNode;
let second: DelayNode;
/** Name and group of each, in the order in which they ran. */
let ran: string[];

const startNode = (): Promise<DelayNode> =>
  stage.start({
    providers: ([NAME, 'test.mark'] as const).map((name) =>
      plainHandler(name, ({ group }) => void ran.push(group === null ? name : `${name} ${group}`)),
    ),
  });

const schedule = (name: DelayName, group?: string): Promise<unknown> =>
  first.delays.schedule(name, null, { ...NOW, ...(group !== undefined && { group }) });

const runs = (what: string, times = 1): Promise<unknown> =>
  until(
    () => ran.filter((one) => one === what).length,
    (count) => count === times,
  );

/** Both nodes have begun what was due by now: who could run, ran. */
async function bothHaveClaimed(): Promise<void> {
  const before = ran.filter((one) => one === 'test.mark').length;
  for (let n = 0; n < 20; n += 1) await schedule('test.mark');
  await runs('test.mark', before + 20);
}

describe('a pause', () => {
  beforeEach(async () => {
    stage = await Stage.open();
    ran = [];
    [first, second] = [await startNode(), await startNode()];
  });

  afterEach(() => stage.close());

  it('of a name holds on all nodes, and what waits may be moved and cancelled, until it ends on all', async () => {
    const pause = await second.admin.pause(NAME, { reason: 'the provider is down' });
    expect(pause).toMatchObject({ name: NAME, group: null, reason: 'the provider is down' });
    expect(pause.until).toBeNull();
    for (let n = 0; n < 20; n += 1) await schedule(NAME);
    await first.delays.schedule(NAME, null, { key: 'k', after: '1h' });
    const moved = { verdict: 'rescheduled' };
    expect(await first.delays.reschedule(NAME, 'k', NOW)).toMatchObject(moved);
    await bothHaveClaimed();
    expect(ran).not.toContain(NAME);
    expect(await first.admin.stats()).toMatchObject({
      pauses: [pause],
      names: expect.arrayContaining([expect.objectContaining({ name: NAME, overdue: 21 })]),
    });
    expect(await first.delays.cancel(NAME, 'k')).toMatchObject({ verdict: 'cancelled' });
    expect(await first.admin.resume(NAME)).toEqual(pause);
    await runs(NAME, 20);
    expect(await first.admin.resume(NAME)).toBeNull();
  });

  it('is known to the database: a node that has not heard of it claims nothing', async () => {
    // Nobody is told.
    await stage.sql(
      `INSERT INTO delay_queue.pause VALUES (now(), 'infinity', '${NAME}', 'eu', NULL)`,
    );
    await schedule(NAME, 'eu');
    await schedule(NAME, 'us');
    await runs(`${NAME} us`);
    await bothHaveClaimed();
    expect(ran).not.toContain(`${NAME} eu`);
    await first.admin.resume(NAME, { group: 'eu' });
    await runs(`${NAME} eu`);
  });

  it('of a group leaves the other groups alone, however many wait', async () => {
    const WAITING = 12_000;
    await first.admin.pause(NAME, { group: 'big' });
    await stage.sql(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
       SELECT '${NAME}', 'null', at, at, at, 'big'
       FROM generate_series(1, ${WAITING}), LATERAL (SELECT now() - interval '1 minute' AS at) AS due`,
    );
    // A node that begins finds them all overdue.
    await startNode();
    await schedule(NAME, 'small');
    await schedule(NAME);
    await runs(`${NAME} small`);
    await runs(NAME);
    await bothHaveClaimed();
    expect(ran).not.toContain(`${NAME} big`);
    await second.admin.resume(NAME, { group: 'big' });
    await runs(`${NAME} big`, WAITING);
  });

  it('ends by itself', async () => {
    const { pausedAt, until: end } = await first.admin.pause(NAME, { for: '1s' });
    expect(end?.getTime()).toBeGreaterThanOrEqual(pausedAt.getTime() + 1_000);
    await schedule(NAME);
    await bothHaveClaimed();
    // On a slow machine it may be over by now.
    const hasRun = ran.includes(NAME);
    const isPaused = (await first.admin.stats()).pauses.length > 0;
    expect({ hasRun, isPaused }).not.toEqual({ hasRun: true, isPaused: true });
    await runs(NAME);
    const at = new Date(Date.now() + 60_000);
    expect(await first.admin.pause(NAME, { until: at })).toMatchObject({ until: at });
    await first.admin.pause(NAME, { for: 1 });
    await schedule(NAME);
    await runs(NAME, 2);
  });
});

describe('the call', () => {
  const node = new OneNode({ options: { worker: false } });

  afterEach(() => node.sql('TRUNCATE delay_queue.pause'));

  it('waits for another transaction that pauses the same, but not for ever', async () => {
    const holder = await node.begin();
    await node.admin.pause(NAME, { manager: holder.manager });
    const calls = [node.admin.pause(NAME)];
    await node.until(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      ({ length }) => length === 1,
    );
    await holder.commit();
    expect(await Promise.all(calls)).toMatchObject([{ name: NAME }]);
    const again = await node.begin();
    await node.admin.resume(NAME, { manager: again.manager });
    const code = await heldCode(node.dataSource);
    await expect(node.admin.resume(NAME)).rejects.toMatchObject({ code });
    await expect(node.admin.pause(NAME)).rejects.toMatchObject({ code });
  });

  it('stands and falls with the transaction of its caller', async () => {
    for (const [end, count] of [
      ['rollback', 0],
      ['commit', 1],
    ] as const) {
      const transaction = await node.begin();
      await node.admin.pause(NAME, { manager: transaction.manager });
      expect((await node.admin.stats()).pauses).toEqual([]);
      await transaction[end]();
      expect((await node.admin.stats()).pauses).toHaveLength(count);
    }
  });

  it.each<[unknown, string]>([
    [{ group: '' }, 'group'],
    [{ reason: 7 }, 'reason'],
    [{ for: '1 fortnight' }, 'for'],
    [{ for: '1h', until: new Date() }, 'until'],
    [{ until: 'tomorrow' }, 'until'],
    [{ untill: new Date() }, 'untill'],
  ])('with %j is refused', async (options, field) => {
    const call = node.admin.pause(NAME, options as PauseOptions);
    await expect(call).rejects.toMatchObject({ field: expect.stringContaining(field) });
  });

  it('changes the pause that there is; of others there are a thousand, at most', async () => {
    await node.sql(
      `INSERT INTO delay_queue.pause
       SELECT now(), 'infinity', 'test.x', 'g' || n FROM generate_series(1, 1000) n`,
    );
    await expect(node.admin.pause(NAME)).rejects.toMatchObject({ field: 'name' });
    await node.admin.resume('test.x', { group: 'g1' });
    const { pausedAt } = await node.admin.pause(NAME, { reason: 'a' });
    const changed = { pausedAt, reason: 'b' };
    expect(await node.admin.pause(NAME, { reason: 'b' })).toMatchObject(changed);
  });
});

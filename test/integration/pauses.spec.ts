import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DelayName, PauseOptions } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

const NAME = 'test.paused';
const NOW = { after: 0 } as const;

let stage: Stage;
let nodes: DelayNode[];
/** Name and group of each, in the order in which they ran. */
let ran: string[];

beforeEach(async () => {
  stage = await Stage.open();
  ran = [];
  nodes = [await startNode(), await startNode()];
});

afterEach(() => stage.close());

const startNode = (): Promise<DelayNode> =>
  stage.start({
    providers: ([NAME, 'test.other', 'test.mark'] as const).map((name) =>
      plainHandler(name, (delay) => {
        ran.push(delay.group === null ? delay.name : `${delay.name} ${delay.group}`);
      }),
    ),
  });

const first = (): DelayNode => nodes[0] as DelayNode;
const second = (): DelayNode => nodes[1] as DelayNode;

const schedule = (name: DelayName, group?: string): Promise<unknown> =>
  first().delays.schedule(name, null, { ...NOW, ...(group !== undefined && { group }) });

const runs = (what: string, times = 1): Promise<unknown> =>
  until(
    () => ran.filter((one) => one === what).length,
    (count) => count === times,
  );

/** Both nodes have begun what was due by now: who could run, ran. */
async function bothHaveClaimed(): Promise<void> {
  const marks = 40;
  const before = ran.filter((one) => one === 'test.mark').length;
  for (let n = 0; n < marks; n += 1) await schedule('test.mark');
  await runs('test.mark', before + marks);
}

describe('a pause', () => {
  it('of a name holds on all nodes, and ends on all', async () => {
    const pause = await second().admin.pause(NAME, { reason: 'the provider is down' });
    expect(pause).toMatchObject({ name: NAME, group: null, reason: 'the provider is down' });
    expect(pause.until).toBeNull();
    for (let n = 0; n < 20; n += 1) await schedule(NAME);
    await schedule('test.other');
    await bothHaveClaimed();
    expect(ran).toContain('test.other');
    expect(ran).not.toContain(NAME);
    expect((await first().admin.stats()).pauses).toEqual([pause]);
    expect(await first().admin.resume(NAME)).toEqual(pause);
    await runs(NAME, 20);
    expect(await first().admin.resume(NAME)).toBeNull();
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
    await first().admin.resume(NAME, { group: 'eu' });
    await runs(`${NAME} eu`);
  });

  it('of a group leaves the other groups alone, however many wait', async () => {
    await first().admin.pause(NAME, { group: 'big' });
    await stage.sql(
      `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, group_id)
       SELECT '${NAME}', 'null', at, at, at, 'big'
       FROM generate_series(1, 15000), LATERAL (SELECT now() - interval '1 minute' AS at) AS due`,
    );
    // A node that begins finds them all overdue.
    nodes.push(await startNode());
    await schedule(NAME, 'small');
    await schedule(NAME);
    await runs(`${NAME} small`);
    await runs(NAME);
    await bothHaveClaimed();
    expect(ran).not.toContain(`${NAME} big`);
    await second().admin.resume(NAME, { group: 'big' });
    await runs(`${NAME} big`, 15_000);
  });

  it('ends by itself', async () => {
    const { pausedAt, until: end } = await first().admin.pause(NAME, { for: '1s' });
    expect(end?.getTime()).toBeGreaterThanOrEqual(pausedAt.getTime() + 1_000);
    await schedule(NAME);
    await bothHaveClaimed();
    const paused = (await first().admin.stats()).pauses.length;
    // On a slow machine it may be over by now.
    expect(ran.includes(NAME)).toBe(paused === 0);
    await runs(NAME);
    await first().admin.pause(NAME, { until: new Date(0) });
    await schedule(NAME);
    await runs(NAME, 2);
  });

  it('stands and falls with the transaction of its caller', async () => {
    const call = first().dataSource.transaction(async (manager) => {
      await first().admin.pause(NAME, { manager });
      throw new Error('no');
    });
    await expect(call).rejects.toThrow('no');
    await schedule(NAME);
    await runs(NAME);
    await first().dataSource.transaction(async (manager) => {
      await first().admin.pause(NAME, { manager });
    });
    await schedule(NAME);
    await bothHaveClaimed();
    expect(ran.filter((one) => one === NAME)).toHaveLength(1);
  });

  it('survives a restart, and a second call changes it', async () => {
    const { pausedAt } = await first().admin.pause(NAME, { reason: 'a' });
    await Promise.all(nodes.map((node) => node.stop()));
    nodes = [await startNode()];
    await schedule(NAME);
    await bothHaveClaimed();
    expect(ran).not.toContain(NAME);
    expect(await first().admin.pause(NAME, { reason: 'b' })).toMatchObject({
      pausedAt,
      reason: 'b',
    });
    await first().admin.resume(NAME);
    await runs(NAME);
  });

  it('lets what waits for later be due, moved and cancelled', async () => {
    await first().admin.pause(NAME);
    const options = { key: '1', after: '1h' } as const;
    await first().delays.schedule(NAME, null, options);
    expect(await first().delays.reschedule(NAME, '1', NOW)).toMatchObject({
      verdict: 'rescheduled',
    });
    await bothHaveClaimed();
    expect(await first().admin.stats()).toMatchObject({
      names: expect.arrayContaining([expect.objectContaining({ name: NAME, overdue: 1 })]),
    });
    expect(await first().delays.cancel(NAME, '1')).toMatchObject({ verdict: 'cancelled' });
  });

  it.each<[unknown, string]>([
    [{ group: '' }, 'group'],
    [{ reason: 7 }, 'reason'],
    [{ for: '1 fortnight' }, 'for'],
    [{ for: '1h', until: new Date() }, 'until'],
    [{ until: 'tomorrow' }, 'until'],
    [{ untill: new Date() }, 'untill'],
  ])('%j is refused', async (options, field) => {
    const call = first().admin.pause(NAME, options as PauseOptions);
    await expect(call).rejects.toMatchObject({ field: expect.stringContaining(field) });
  });

  it('is one of a thousand, at most', async () => {
    await stage.sql(
      `INSERT INTO delay_queue.pause
       SELECT now(), 'infinity', 'test.x', 'g' || n FROM generate_series(1, 1000) n`,
    );
    await expect(first().admin.pause(NAME)).rejects.toMatchObject({ field: 'name' });
    await first().admin.resume('test.x', { group: 'g1' });
    await first().admin.pause(NAME);
    await first().admin.pause(NAME, { reason: 'again' });
  });
});

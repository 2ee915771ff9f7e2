import { describe, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import {
  type ActingContext,
  ActingNode,
  KEY,
  type Kind,
  NAMES,
} from '../../support/acting-node.js';
import { until } from '../../support/until.js';

/** A handler that says how its own delay recurs. */
const HOUR = 3_600_000;
const HOURLY = { every: '1h' } as const;
const acting = new ActingNode();

const WAYS: [kind: Kind, managerOf: (ctx: ActingContext) => EntityManager | undefined][] = [
  ['plain', () => undefined],
  ['transactional', (ctx) => ctx.manager],
];

describe.each(WAYS)('a %s handler', (kind, managerOf) => {
  const name = NAMES[kind];
  const find = () => acting.delays.find(name, KEY);

  const schedule = (
    ctx: ActingContext,
    repeat: typeof HOURLY | { cron: string; limit?: number } = HOURLY,
  ) => acting.delays.schedule(name, 'next', { key: KEY, repeat, manager: managerOf(ctx) });

  it('makes its delay recur, and goes on without drift when it says the same again', async () => {
    const { end, answer } = await acting.fire(kind, (ctx) => schedule(ctx));
    expect(end.event).toBe('superseded');
    expect(await find()).toMatchObject({
      payload: 'next',
      dueAt: answer.dueAt,
      repeat: { every: HOUR, catchUp: 'latest' },
    });
    // By hand before its time: the next instant is the one that was next.
    await acting.admin.runNow([{ name, key: KEY }]);
    await until(
      () => acting.ends,
      ({ length }) => length > 1,
    );
    expect((await find())?.dueAt).toEqual(answer.dueAt);
  });

  it('changes how it recurs', async () => {
    await acting.delays.schedule(name, 'first', { key: KEY, repeat: HOURLY, after: '9d' });
    const cron = { cron: '0 3 * * *' } as const;
    // Takes what is there, which goes on to recur.
    const changed = await acting.fire(kind, (ctx) => schedule(ctx, cron));
    expect(changed.answer.dueAt.toISOString()).toMatch(/T03:00:00.000Z$/);
    expect(await find()).toMatchObject({ repeat: { ...cron, timeZone: 'UTC' } });
  });

  it('says the same again: the run counts, and it is known by which rules its due time was computed', async () => {
    const daily = { cron: '0 3 * * *', limit: 3 } as const;
    await acting.delays.schedule(name, 'first', { key: KEY, repeat: daily });
    const { answer } = await acting.fire(kind, (ctx) => schedule(ctx, daily));
    expect(await find()).toMatchObject({ runsLeft: 2, dueAt: answer.dueAt });
    const [row] = await acting.sql<{ repeat: object }>('SELECT repeat FROM delay_queue.delay');
    expect(row?.repeat).toMatchObject({ from: answer.dueAt.getTime(), offset: 0, ran: 1 });
  });

  it('hears that the code declares it', async () => {
    await acting.sql(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, repeat)
       VALUES ($1, $2, '1', now() + interval '1 h', now() + interval '1 h', now(),
               '{"every": 3600000, "catchUp": "latest", "declared": true}')`,
      [name, KEY],
    );
    const { answer } = await acting.fire(kind, async (ctx) => {
      const manager = managerOf(ctx);
      const other = { name: 'test.a', payload: { n: 1 }, after: '1h', key: 'other' } as const;
      const own = { name, payload: 'next', key: KEY, repeat: HOURLY };
      return [
        await schedule(ctx).catch((error: unknown) => error),
        await acting.delays
          .scheduleMany([other, own], { manager })
          .catch((error: unknown) => error),
        await acting.delays.find('test.a', 'other', { manager }),
      ];
    });
    const refused = expect.objectContaining({ code: 'DELAY_INVALID', field: 'key' });
    expect(answer).toEqual([refused, refused, null]);
    expect(await find()).toMatchObject({ payload: 'first', repeat: { every: HOUR } });
  });
});

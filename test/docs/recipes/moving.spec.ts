import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { DelayService } from 'nestjs-delay-queue';
import type { DataSource } from 'typeorm';
import { until } from '../../support/until.js';
import { Recipe, type RunningApp } from './recipe.js';
import { channelOf, sortedSetOf, standIn } from './stand-in.js';

const MINUTE_MS = 60_000;

let recipe: Recipe | undefined;

afterEach(async () => {
  await recipe?.close();
  recipe = undefined;
});

/** The page, and an application that only schedules. */
async function open(page: string): Promise<{ page: Recipe; app: RunningApp }> {
  recipe = await Recipe.open(page);
  return { page: recipe, app: await recipe.start([], { worker: false }) };
}

describe('move-from-a-scan.md', () => {
  it('the backfill gives each unpaid order its close, and moves none that waits', async () => {
    const { page, app } = await open('move-from-a-scan.md');
    const { backfill } = await page.load<{
      backfill: (dataSource: DataSource, delays: DelayService) => Promise<number>;
    }>('backfill.ts');
    await page.sql(
      `INSERT INTO orders
       SELECT 'order-' || n, CASE n % 10 WHEN 0 THEN 'PAID' ELSE 'UNPAID' END,
              date_trunc('milliseconds', clock_timestamp() + interval '1 hour')
       FROM generate_series(1, 2500) AS n`,
    );
    const extended = await app.delays.schedule(
      'order.close',
      { orderId: 'order-1' },
      { after: '3h', key: 'order-1' },
    );
    expect(await backfill(page.dataSource, app.delays)).toBe(2_249);
    expect(await backfill(page.dataSource, app.delays)).toBe(0);
    expect(await app.find('order.close', 'order-1')).toMatchObject({ dueAt: extended.dueAt });
    const [order] = await page.sql(`SELECT pay_deadline FROM orders WHERE id = 'order-2499'`);
    expect(await app.find('order.close', 'order-2499')).toMatchObject({
      dueAt: order?.['pay_deadline'],
    });
    expect(await app.find('order.close', 'order-10')).toBeNull();
  });

  it('the reconciler tells of orders that nothing will close, once', async () => {
    const { page } = await open('move-from-a-scan.md');
    const { Reconciler } = await page.load<{
      Reconciler: Type<{ reconcile(): Promise<string[]> }>;
    }>('reconciler.ts');
    const app = await page.start([Reconciler], { worker: false });
    await page.sql(
      `INSERT INTO orders VALUES
         ('lost', 'UNPAID', clock_timestamp() - interval '1 hour'),
         ('late', 'UNPAID', clock_timestamp() - interval '1 hour'),
         ('paid', 'PAID', clock_timestamp() - interval '1 hour'),
         ('fresh', 'UNPAID', clock_timestamp() - interval '1 minute')`,
    );
    await app.scheduleNow('order.close', ['late'], (orderId) => ({ orderId }));
    expect(await app.get(Reconciler).reconcile()).toEqual(['lost']);
    expect(await app.get(Reconciler).reconcile()).toEqual([]);
    expect(await app.find('order.close', 'lost')).not.toBeNull();
  });
});

describe('move-from-bullmq.md', () => {
  it('each job becomes a delay at its time, also when the first try had died (a map stands in for BullMQ)', async () => {
    const { page, app } = await open('move-from-bullmq.md');
    const { moveOver } = await page.load<{
      moveOver: (queue: object, delays: DelayService) => Promise<number>;
    }>('move-over.ts');
    const timestamp = Date.now();
    const jobs = new Map(
      Array.from({ length: 700 }, (_, n) => {
        const data = { couponId: `coupon-${n}` };
        return [`job-${n}`, { id: `job-${n}`, data, timestamp, delay: MINUTE_MS + n }];
      }),
    );
    let dies = true;
    const queue = standIn('BullMQ', {
      getDelayed: async (start: number, end: number) => [...jobs.values()].slice(start, end + 1),
      remove: async (id: string) => {
        if (dies) throw new Error('Redis is away');
        // Somebody took it just now.
        return Number(jobs.delete(id) && id !== 'job-7');
      },
    });
    await expect(moveOver(queue, app.delays)).rejects.toThrow('Redis is away');
    const repeated = standIn('BullMQ', {
      getDelayed: async () => [{ id: 'r', repeatJobKey: 'daily' }],
    });
    await expect(moveOver(repeated, app.delays)).rejects.toThrow('remove its schedulers first');
    dies = false;
    expect(await moveOver(queue, app.delays)).toBe(699);
    expect(await app.find('coupon.expire', 'coupon-699')).toMatchObject({
      dueAt: new Date(timestamp + MINUTE_MS + 699),
    });
    expect(await page.sql('SELECT count(*)::int AS delays FROM delay_queue.delay')).toEqual([
      { delays: 700 },
    ]);
  });
});

const message = (couponId: string, headers: object) => ({
  content: Buffer.from(JSON.stringify({ couponId })),
  properties: { headers },
});

describe('move-from-rabbitmq.md', () => {
  it('each message becomes a delay before it is acknowledged (a list stands in for RabbitMQ)', async () => {
    const { page, app } = await open('move-from-rabbitmq.md');
    const { moveOver } = await page.load<{
      moveOver: (channel: object, queue: string, ttl: number, d: DelayService) => Promise<number>;
    }>('move-over.ts');
    const sentAtMs = Date.now();
    const waiting = [
      message('a', { sentAtMs }),
      message('b', { sentAtMs: sentAtMs - 10 }),
      message('unknown', {}),
    ];
    const move = async (queue: string): Promise<number> => {
      const channel = channelOf('wait.1m', waiting);
      const moved = await moveOver(channel, queue, MINUTE_MS, app.delays).catch(
        async (error: unknown) => {
          await channel.close();
          throw error;
        },
      );
      await channel.close();
      return moved;
    };
    await expect(move('wait.1m')).rejects.toMatchObject({ code: 'DELAY_INVALID', field: 'at' });
    // It went back unacknowledged.
    expect(waiting).toEqual([message('unknown', {})]);
    expect(await app.find('coupon.expire', 'b')).toMatchObject({
      dueAt: new Date(sentAtMs - 10 + MINUTE_MS),
    });
    waiting.shift();
    expect(await move('wait.1m')).toBe(0);
  });
});

describe('move-from-a-zset.md', () => {
  it('each member becomes a delay at its score, beside a poller that takes some (a map stands in for Redis)', async () => {
    const { page, app } = await open('move-from-a-zset.md');
    const { moveOver } = await page.load<{
      moveOver: (redis: object, zset: string, delays: DelayService) => Promise<number>;
    }>('move-over.ts');
    const firstMs = Date.now() + MINUTE_MS;
    const members = new Map(Array.from({ length: 700 }, (_, n) => [`order-${n}`, firstMs + n]));
    // The poller is there between the two.
    const redis = sortedSetOf('closes', members, () => members.delete('order-0'));
    expect(await moveOver(redis, 'closes', app.delays)).toBe(699);
    expect(await app.find('order.close', 'order-600')).toMatchObject({
      dueAt: new Date(firstMs + 600),
    });
    expect(await page.sql('SELECT count(*)::int AS delays FROM delay_queue.delay')).toEqual([
      { delays: 700 },
    ]);
  });
});

describe('move-from-timers-in-memory.md', () => {
  it('what need not survive stays in memory', async () => {
    const { page } = await open('move-from-timers-in-memory.md');
    const { Typing } = await page.load<{
      Typing: Type<{ typed(user: string): void; stopped(user: string): void; now(): string[] }>;
    }>('typing.ts');
    const app = await page.start([Typing], { worker: false });
    const typing = app.get(Typing);
    typing.typed('ann');
    typing.typed('bob');
    typing.typed('bob');
    expect(typing.now()).toEqual(['ann', 'bob']);
    typing.stopped('ann');
    expect(typing.now()).toEqual(['bob']);
    await until(
      () => typing.now(),
      (users) => users.length === 0,
    );
  });
});

describe('what stands in for a server', () => {
  it('refuses what the real one would', async () => {
    const redis = sortedSetOf('closes', new Map([['a', 1]]), () => {});
    expect(() => Reflect.get(redis, 'zpopmin') as unknown).toThrow('for Redis has no zpopmin');
    await expect(redis.zrange('closes', 0, 0.5)).rejects.toThrow('not an integer');
    await expect(redis.zrange('closes', 0, 1, 'SCORES')).rejects.toThrow('syntax error');
    await expect(redis.zrem('closes')).rejects.toThrow('wrong number of arguments');
    expect(await redis.zrange('closes', 0, -1)).toEqual(['a']);
    const channel = channelOf('wait.1m', [{}]);
    expect(() => channel.ack({})).toThrow('unknown delivery tag');
    await expect(channel.get('wait.1m')).rejects.toThrow('Channel closed');
    await expect(channelOf('wait.1m', []).get('wait')).rejects.toThrow('no queue');
  });
});

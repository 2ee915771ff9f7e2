import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { numberOf, type OpenDesign } from './design.js';

const EVERY_MS = 100;

/**
 * The three commands of Redis that this needs, on an unlogged table: shared by all processes, each
 * command atomic, no transaction around two of them, and none of the shop's transactions reaches it.
 */
export class SortedSet {
  constructor(private readonly store: DataSource) {}

  /** `ZADD`, with a score that is `afterMs` from now. */
  async zadd(member: string, afterMs: number): Promise<void> {
    await this.store.query(
      `INSERT INTO zset (member, score)
       VALUES ($1, extract(epoch FROM clock_timestamp()) * 1000 + $2::float8)
       ON CONFLICT (member) DO UPDATE SET score = excluded.score`,
      [member, afterMs],
    );
  }

  /** `ZRANGEBYSCORE -inf <now> LIMIT 0 100`. */
  async due(): Promise<string[]> {
    const rows = await this.store.query<{ member: string }[]>(
      `SELECT member FROM zset WHERE score <= extract(epoch FROM clock_timestamp()) * 1000
       ORDER BY score LIMIT 100`,
    );
    return rows.map(({ member }) => member);
  }

  /** `ZREM`. @returns whether it was there: the caller that removes it has it */
  async zrem(member: string): Promise<boolean> {
    const sql = `WITH gone AS (DELETE FROM zset WHERE member = $1 RETURNING 1)
                 SELECT count(*)::int AS n FROM gone`;
    return (await numberOf(this.store, sql, [member])) === 1;
  }

  zcard(): Promise<number> {
    return numberOf(this.store, 'SELECT count(*)::int AS n FROM zset');
  }
}

/**
 * A sorted set by due time and a poller: the process that gets a 1 from `ZREM` runs the task. Two processes never
 * run one twice, and `ZREM` tells a payment truthfully that it came too late. But from then on the task
 * is nowhere except in that process, and the set knows nothing of the shop's transactions.
 */
export const openZset: OpenDesign = async (shop) => {
  const set = new SortedSet(shop.dataSource);
  let taking = 0;
  const loop = async (): Promise<void> => {
    for (;;) {
      await pause(EVERY_MS);
      for (const orderId of await set.due()) {
        taking = 1;
        if (await set.zrem(orderId)) await shop.close(orderId);
        taking = 0;
      }
    }
  };
  void loop();
  return {
    schedule: (orderId, afterMs) => set.zadd(orderId, afterMs),
    cancel: (orderId) => set.zrem(orderId),
    left: async () => (await set.zcard()) + taking,
  };
};

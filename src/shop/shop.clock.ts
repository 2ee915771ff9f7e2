import type { EntityManager } from 'typeorm';

/**
 * The database's clock, as every deadline of the shop is judged by it. Not `now()`: inside a
 * transaction that one stands still.
 */
export async function serverNow(manager: EntityManager): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
  return row!.now;
}

import type { EntityManager } from 'typeorm';

/**
 * The database's clock, as every deadline of the shop is judged by it. Not `now()`: inside a
 * transaction that one stands still.
 */
export async function serverNow(manager: EntityManager): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
  return row!.now;
}

/** Waits for an instant on that clock; for a short time, because a connection waits as well. */
export async function untilServerNow(manager: EntityManager, instant: Date): Promise<void> {
  await manager.query(
    `SELECT pg_sleep(greatest(0, extract(epoch FROM $1::timestamptz - clock_timestamp())))`,
    [instant],
  );
}

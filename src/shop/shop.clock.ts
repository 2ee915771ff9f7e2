import type { EntityManager } from 'typeorm';

/** The database's clock, by which deadlines are judged. `now()` stands still in a transaction. */
export async function serverNow(manager: EntityManager): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
  return row!.now;
}

/** Waits for an instant on that clock. Only for a short time: it occupies a connection. */
export async function untilServerNow(manager: EntityManager, instant: Date): Promise<void> {
  await manager.query(
    `SELECT pg_sleep(greatest(0, extract(epoch FROM $1::timestamptz - clock_timestamp())))`,
    [instant],
  );
}

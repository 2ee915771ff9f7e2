import { DataSource } from 'typeorm';
import type { RunningShop } from './running-shop.js';

/** While another session holds what that statement locks. */
export const whileHeld = <T>(
  shop: RunningShop,
  [lock, ...parameters]: [string, ...unknown[]],
  work: () => Promise<T>,
): Promise<T> =>
  shop.app.get(DataSource).transaction(async (manager) => {
    await manager.query(lock, parameters);
    return work();
  });

export const whileOrderHeld = <T>(
  shop: RunningShop,
  id: string,
  work: () => Promise<T>,
): Promise<T> => whileHeld(shop, ['SELECT FROM orders WHERE id = $1 FOR UPDATE', id], work);

/** That write fails, as if the shop died in front of it. @returns what ends that */
export async function refuseWrite(
  shop: RunningShop,
  write: string,
  isRefused: string,
): Promise<() => Promise<unknown>> {
  await shop.sql(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'the shop died before it wrote that down'; END $$;
     CREATE TRIGGER refuse BEFORE ${write} FOR EACH ROW WHEN (${isRefused}) EXECUTE FUNCTION refuse()`,
  );
  return () => shop.sql(`DROP FUNCTION refuse CASCADE`);
}

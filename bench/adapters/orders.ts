import { DataSource, type EntityManager } from 'typeorm';

/** An order for each delay, as an application has it. */
export const ORDERS = {
  create: `CREATE TABLE bench_order (
    n integer PRIMARY KEY, status text NOT NULL, total_cents bigint NOT NULL, placed_at timestamptz NOT NULL)`,
  fill: `INSERT INTO bench_order SELECT n, 'UNPAID', 9900, now() FROM generate_series(0, $1::int - 1) AS n`,
  close: `UPDATE bench_order SET status = 'CLOSED' WHERE n = $1 AND status = 'UNPAID'`,
  closeMany: `UPDATE bench_order SET status = 'CLOSED' WHERE n = ANY ($1::int[]) AND status = 'UNPAID'`,
  open: `SELECT count(*)::int AS count FROM bench_order WHERE status = 'UNPAID'`,
} as const;

/** Of the application. */
export const POOL_MAX = 20;

export const closeOrder = (manager: EntityManager, n: number): Promise<unknown> =>
  manager.query(ORDERS.close, [n]);

export const closeOrders = (manager: EntityManager, all: readonly number[]): Promise<unknown> =>
  manager.query(ORDERS.closeMany, [all]);

/** What an application of any queue has beside it: TypeORM, with a pool of its own. */
export interface Shop {
  /** Closes an order in a transaction of its own. */
  close(n: number): Promise<void>;
  end(): Promise<void>;
}

export async function openShop(url: string): Promise<Shop> {
  const dataSource = new DataSource({ type: 'postgres', url, extra: { max: POOL_MAX } });
  await dataSource.initialize();
  return {
    close: async (n) => void (await dataSource.transaction((manager) => closeOrder(manager, n))),
    end: () => dataSource.destroy(),
  };
}

import type { DataSource, EntityManager } from 'typeorm';

/** What closes an order at its time. One for each process, until that is killed. */
export interface Design {
  /** Called in the transaction that places the order. */
  schedule(orderId: string, afterMs: number, manager: EntityManager): Promise<void>;
  /**
   * Called in the transaction that pays.
   * @returns `false`: the close has begun, do not take the money. A design that cannot tell says `true`.
   */
  cancel(orderId: string, manager: EntityManager): Promise<boolean>;
  /** How many closes are still to come, as far as this process knows. */
  left(): Promise<number>;
}

/** What a design finds in its process. */
export interface Shop {
  dataSource: DataSource;
  /** Of this process. */
  name: string;
  /** Whether the close of that order runs in this process. */
  closing(orderId: string): boolean;
  /**
   * The business part, the same for every design: looks whether the order is unpaid, gives its stock back
   * and closes it, in a transaction of its own or in the one that is handed in.
   */
  close(orderId: string, manager?: EntityManager): Promise<void>;
}

export type OpenDesign = (shop: Shop) => Promise<Design>;

/** The column `n` of the first row. */
export async function numberOf(
  source: DataSource | EntityManager,
  sql: string,
  parameters: unknown[] = [],
): Promise<number> {
  const [row] = await source.query<{ n: number }[]>(sql, parameters);
  return Number(row?.n);
}

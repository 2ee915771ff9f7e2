import type { DataSource } from 'typeorm';
import { HELD_MAX_MS } from '../../src/delay-queue/core/store/sql/fragments/clock.js';

/**
 * The code of the error that ends a wait of a call of its own: ours, unless the role has a shorter limit for
 * statements, which speaks first then.
 */
export async function heldCode(dataSource: DataSource): Promise<'DELAY_UNSTABLE' | '57014'> {
  const [limit] = await dataSource.query<{ ms: string }[]>(
    `SELECT setting AS ms FROM pg_settings WHERE name = 'statement_timeout'`,
  );
  const limitMs = Number(limit?.ms);
  return limitMs > 0 && limitMs < HELD_MAX_MS ? '57014' : 'DELAY_UNSTABLE';
}

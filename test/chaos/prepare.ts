import { DataSource } from 'typeorm';
import { migrations } from '../../migrations/index.js';
import { TAKE_ONE, TAKEN_TABLE } from './load/payloads.js';
import { installRecord } from './record/record.js';
import type { ChaosDatabase } from './server/chaos-server.js';

/** All but one article never run out: what is paid for does not come back. */
const MORE_STOCK = `UPDATE sku SET stock = stock + 1000000, initial_stock = initial_stock + 1000000
  WHERE sku <> 'POT-IRON'`;

/** Tables of the library and of the shop, and the record that a run is judged by. */
export async function prepare({ url, sql }: ChaosDatabase): Promise<void> {
  const source = new DataSource({ type: 'postgres', url, migrations });
  await source.initialize();
  try {
    await source.runMigrations();
  } finally {
    await source.destroy();
  }
  await installRecord(sql);
  for (const statement of [TAKEN_TABLE, TAKE_ONE, MORE_STOCK]) await sql(statement);
}

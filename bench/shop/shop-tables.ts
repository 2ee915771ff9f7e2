import { runMigrations } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/app.module.js';
import { stockShop } from '../burst/orders.js';
import { connect } from '../server/bench-server.js';

/** Builds the tables of the sample shop, with so many SKUs that never run out. */
export async function buildShop(url: string, skus: number): Promise<void> {
  const source = new DataSource(databaseOptions(url));
  await source.initialize();
  try {
    await runMigrations(source);
  } finally {
    await source.destroy();
  }
  const client = await connect(url);
  await stockShop(client, skus);
  await client.end();
}

import { openDatabase } from '../database.js';
import { OneProcess } from '../shop/processes/processes.js';
import { ShopLog } from '../shop/shop.log.js';
import { readSettings } from '../shop/shop.config.js';
import type { Lifetime } from './lifetime.js';
import { openShop } from './open-shop.js';
import { listenTrouble } from './port.js';
import { databaseNow } from './reservation.js';

/** `npm run start:prod`: one process, which something else starts and watches. */
export async function runShop(lifetime: Lifetime): Promise<void> {
  const { logLevels, ...settings } = readSettings(process.env, { prod: true });
  const database = await openDatabase({ prod: true });
  lifetime.opened(() => database.stop());
  const startedAt = await databaseNow(database.url);
  const log = new ShopLog({ logLevels });
  const config = { ...settings, databaseUrl: database.url };
  try {
    const { app, port } = await openShop(config, new OneProcess(startedAt), log);
    lifetime.opened(() => app.close());
    console.log(`The shop listens on ${settings.host}:${port}`);
  } catch (error) {
    throw listenTrouble(error, settings) ?? error;
  }
}

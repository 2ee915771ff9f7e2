import { delayQueueMigrations } from 'nestjs-delay-queue';
import { Shop1760000001000 } from './1760000001000-shop.js';

/** Everything the shop's database needs, in order: the library's tables, then the shop's own. */
export const migrations = [...delayQueueMigrations(), Shop1760000001000];

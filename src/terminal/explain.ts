import { inspect } from 'node:util';
import { codeOf } from '../embedded-postgres/embedded-postgres.error.js';
import { indented } from '../shop/shop.log.js';
import { ShopConfigError } from '../shop/shop.config.js';
import { shown } from '../shop/shown.js';
import { StartError } from '../start.error.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/** One line that says what is wrong and what to do; for an unexpected error, all of it. */
export function explain(error: unknown): string {
  if (error instanceof ShopConfigError || error instanceof StartError) return shown(error.message);
  if (codeOf(error) === INSUFFICIENT_PRIVILEGE) {
    return (
      'The user of DATABASE_URL may not create the tables of the shop. ' +
      'Grant it CREATE on the database, or use another user'
    );
  }
  return indented(inspect(error));
}

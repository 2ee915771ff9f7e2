import { inspect } from 'node:util';
import { codeOf } from '../embedded-postgres/embedded-postgres.error.js';
import { indented } from '../shop/shop.log.js';
import { ShopConfigError } from '../shop/shop.config.js';
import { shown } from '../shop/shown.js';
import { StartError } from '../start.error.js';

const INSUFFICIENT_PRIVILEGE = '42501';

/** A line that says what is wrong and what to do; of an unexpected one, the whole error. */
export function explain(error: unknown): string {
  if (error instanceof ShopConfigError || error instanceof StartError) return shown(error.message);
  if (codeOf(error) === INSUFFICIENT_PRIVILEGE) {
    return (
      'The user of DATABASE_URL may not make the tables of the shop. ' +
      'Let it create in its database, or take another user'
    );
  }
  return indented(inspect(error));
}

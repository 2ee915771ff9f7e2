import { nowSql } from '../sql/recurrences/now.sql.js';
import type { AsText } from '../wire/answers.js';
import { given, type Runner } from '../wire/runner.js';

/** The database's clock, in milliseconds since 1970. */
export async function databaseNowMs(runner: Runner): Promise<number> {
  const [row] = await runner.query<AsText<'now_ms'>>(nowSql(), []);
  return Number(given(row).now_ms);
}

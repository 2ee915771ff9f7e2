import { SCHEDULE_ONE } from '../../tables/schedule-one.function.js';
import type { Tables } from '../../tables/schema.js';

/**
 * Inserts a delay; a key that is taken is left alone, and answers no row. Parameters: name, key, payload, after_ms, at,
 * max_attempts, group, headers; all but the first and the third may be null, one of after_ms and at is.
 */
export const scheduleOneSql = ({ schema }: Tables): string =>
  `SELECT id, due_ms, now_us FROM ${schema}.${SCHEDULE_ONE}(
  $1::text, $2::text, $3::text, $4::float8, $5::timestamptz, $6::int, $7::text, $8::jsonb)`;

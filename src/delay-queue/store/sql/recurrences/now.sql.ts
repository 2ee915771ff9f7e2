import { epochMs } from '../../tables/schema.js';

/** What the database's clock says. */
export const nowSql = (): string => `SELECT ${epochMs('clock_timestamp()')}::text AS now_ms`;

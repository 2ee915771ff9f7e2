import { epochMs, type Tables } from '../../tables/schema.js';

/** What the database's clock says. */
export const nowSql = ({ now }: Tables): string => `SELECT ${epochMs(now)}::text AS now_ms`;

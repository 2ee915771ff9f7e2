import { clock, nodesNow } from '../parts/clock.js';
import { liveNames, lives } from './presence.sql.js';
import type { Tables } from '../../tables/schema.js';

/**
 * Which of these names no live node serves. Parameters: names[], for how many milliseconds a node counts as alive of which
 * no sign is there.
 */
export const unservedSql = (tables: Tables): string => `
WITH ${clock(tables)},
${liveNames(tables, '$2')}
SELECT w.name FROM pg_catalog.unnest($1::text[]) AS w(name)
WHERE NOT EXISTS (SELECT FROM live WHERE w.name = ANY (live.names))`;

/** The ids of the nodes that live. Parameter: for how many milliseconds a node counts as alive whose presence no session shows. */
export const liveNodesSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT n.id
FROM ${tables.node} n, clock
WHERE ${lives('n', nodesNow(tables), '$1::float8')}`;

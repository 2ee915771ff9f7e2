import { spreadSql } from '../../wire/ownership.js';

/**
 * SQL for the place of a row's name among those that a node serves, as `served.at`: NULL when it does not.
 * Of few names all are looked through; of many there is an index (`ownership.ts`), else it is NULL.
 * To be joined. OFFSET 0, because the planner would otherwise look it up again wherever it stands: beside
 * three other nodes that was a quarter of a sweep (docs/adr/0016).
 */
export const servedName = (row: string, names: string, index: string): string =>
  `LATERAL (SELECT CASE WHEN ${index} IS NULL THEN array_position(${names}, ${row}.name)
                        ELSE (${index} -> ${row}.name)::int END AS at OFFSET 0) served`;

/**
 * SQL that is true for the rows a node looks after: it serves the name, and `spread(id)` picks it
 * among the nodes that do. How many nodes serve each name, and this node's rank among them, are two
 * arrays beside the names.
 *
 * COALESCE also because of the planner: it takes a bare `=` to keep one row in 200, and to find a
 * page of those it would read and sort the whole range instead of stopping at the LIMIT.
 */
export const ownShare = (row: string, counts: string, ranks: string): string =>
  `COALESCE(${spreadSql(`${row}.id`)} % (${counts})[served.at] = (${ranks})[served.at], false)`;

import { STAYS_APART, expectMany } from './planner.js';
import { groupNumberSql, spreadSql } from '../../wire/ownership.js';

/**
 * SQL for the place of a row's name among those that a node serves, as `served.at`: NULL when it does not.
 * Of few names all are looked through; of many there is an index (`ownership.ts`), else it is NULL.
 * To be joined. OFFSET 0, because the planner would otherwise look it up again wherever it stands: beside
 * three other nodes that was a quarter of a sweep (docs/adr/0016).
 */
export const servedName = (row: string, names: string, index: string): string =>
  `LATERAL (SELECT CASE WHEN ${index} IS NULL THEN pg_catalog.array_position(${names}, ${row}.name)
                        ELSE (${index} -> ${row}.name)::int END AS at ${STAYS_APART}) served`;

/** SQL that is true for rows of no group that is left out: those are an array of {@link groupText}. */
export const notLeftOut = (row: string, { leftOut }: Pick<GroupParameters, 'leftOut'>): string =>
  `(${row}.name || ' ' || COALESCE(${row}.group_id, '')) <> ALL (${leftOut})`;

/** Of a statement about groups: what it has parameters for beside the others. */
export interface GroupParameters {
  /** Whether the group picks the owner, for each name. */
  byGroup: string;
  leftOut: string;
}

/** SQL that is true for a row whose group picks its owner. */
export const isByGroup = (row: string, { byGroup }: GroupParameters): string =>
  `${row}.group_id IS NOT NULL AND (${byGroup})[served.at]`;

/**
 * SQL that is true for the rows a node looks after: it serves the name, and `spread(id)` picks it
 * among the nodes that do. How many nodes serve each name, and this node's rank among them, are two
 * arrays beside the names.
 */
export const ownShare = (
  row: string,
  counts: string,
  ranks: string,
  groups?: GroupParameters,
): string => {
  const number =
    groups === undefined
      ? `${row}.id`
      : `CASE WHEN ${isByGroup(row, groups)} THEN ${groupNumberSql(`${row}.group_id`)} ELSE ${row}.id END`;
  return expectMany(
    `${spreadSql(number)} % (${counts})[served.at]::bigint = (${ranks})[served.at]`,
  );
};

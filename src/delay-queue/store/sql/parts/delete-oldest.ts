/**
 * Deletes the oldest rows of a table, as many as one statement may. Parameters: age_ms, limit. Answers how
 * many. Rows that another session has are that one's to delete.
 *
 * @param by what finds the chosen rows again
 * @param since the instant that counts for a row's age
 * @param order of the index that has the oldest first
 * @param onlyWithoutNewer nothing is deleted while there is a row that is younger
 */
export const deleteOldest = (
  table: string,
  {
    by,
    since,
    order,
    onlyWithoutNewer = false,
  }: { by: string; since: string; order: string; onlyWithoutNewer?: boolean },
): string => {
  const before = `(SELECT pg_catalog.clock_timestamp() - $1::float8 * interval '1 millisecond')`;
  return `
WITH deleted AS (
  DELETE FROM ${table}
  WHERE ${by} = ANY (ARRAY(
    SELECT ${by}
    FROM ${table}
    WHERE ${since} < ${before}${
      onlyWithoutNewer
        ? `
      AND NOT (SELECT EXISTS (SELECT FROM ${table} WHERE ${since} >= ${before}))`
        : ''
    }
    ORDER BY ${order}
    LIMIT $2::int
    FOR UPDATE SKIP LOCKED))
  RETURNING id
)
SELECT pg_catalog.count(*)::text AS count FROM deleted`;
};

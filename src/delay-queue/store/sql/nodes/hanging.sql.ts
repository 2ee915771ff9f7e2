/**
 * Of these processes of the server, those that wait for a synchronous replica at their COMMIT. Parameters: pids[]. A session is there until
 * that replica is back, whatever has become of its connection.
 */
export const hangingSql = (): string => `
SELECT a.pid::text AS pid FROM pg_catalog.pg_stat_activity a
WHERE a.pid OPERATOR(pg_catalog.=) ANY ($1::int4[]) AND a.wait_event OPERATOR(pg_catalog.=) 'SyncRep'::text`;

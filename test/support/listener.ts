/** SQL over pg_stat_activity: sessions that listen for hints, by the last thing they said. */
export const IS_LISTENER = `query ~ '^(LISTEN|SELECT pg_try_advisory_lock|WITH here AS .* SELECT true AS listens)'`;

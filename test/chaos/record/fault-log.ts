import type { Sql } from './sql.js';

/** Writes down a fault that is over. */
export async function noteFault(
  sql: Sql,
  fault: { kind: string; beganAt: Date; endedAt: Date },
): Promise<void> {
  await sql(`INSERT INTO chaos.fault (kind, began_at, ended_at) VALUES ($1, $2, $3)`, [
    fault.kind,
    fault.beganAt.toISOString(),
    fault.endedAt.toISOString(),
  ]);
}

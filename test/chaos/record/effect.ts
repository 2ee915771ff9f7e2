import type { ChaosPayload } from './client-line.js';

/**
 * Writes down that a handler did its work.
 *
 * @param runner `ctx.manager` of a fenced handler, so that the line commits with the attempt; the
 * DataSource of a plain one
 */
export async function noteEffect(
  runner: { query(sql: string, parameters: unknown[]): Promise<unknown> },
  delay: { id: string; name: string; attempt: number; payload: ChaosPayload },
  by: { node: string; fenced: boolean },
): Promise<void> {
  await runner.query(
    `INSERT INTO chaos.effect (delay_id, name, token, attempt, node, fenced)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [delay.id, delay.name, delay.payload.token, delay.attempt, by.node, by.fenced],
  );
}

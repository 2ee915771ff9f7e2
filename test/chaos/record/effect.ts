import type { Delay } from 'nestjs-delay-queue';
import type { ChaosName } from '../load/payloads.js';

/**
 * Writes down that a handler did the work of these delays, in one statement.
 *
 * @param runner `ctx.manager` of a fenced handler, so that the lines commit with the attempts; the
 * DataSource of a plain one
 */
export async function noteEffects(
  runner: { query(sql: string, parameters: unknown[]): Promise<unknown> },
  delays: readonly Delay<ChaosName>[],
  by: { node: string; fenced: boolean },
): Promise<void> {
  await runner.query(
    `INSERT INTO chaos.effect (delay_id, name, token, attempt, node, fenced)
     SELECT done.*, $5, $6 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::int[]) AS done`,
    [
      delays.map(({ id }) => id),
      delays.map(({ name }) => name),
      delays.map(({ payload }) => payload.token),
      delays.map(({ attempt }) => attempt),
      by.node,
      by.fenced,
    ],
  );
}

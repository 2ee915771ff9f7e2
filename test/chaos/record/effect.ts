import type { ChaosPayload } from './client-line.js';

/** A delay as the ledger of effects names it. */
export interface Done {
  id: string;
  name: string;
  attempt: number;
  payload: ChaosPayload;
}

/** Where an effect is written down: a transaction, or a pool. */
interface Runner {
  query(sql: string, parameters: unknown[]): Promise<unknown>;
}

/** Writes down that a handler did its work; see {@link noteEffects}. */
export const noteEffect = (
  runner: Runner,
  delay: Done,
  by: { node: string; fenced: boolean },
): Promise<void> => noteEffects(runner, [delay], by);

/**
 * Writes down that a handler did the work of these delays, in one statement.
 *
 * @param runner `ctx.manager` of a fenced handler, so that the lines commit with the attempts; the
 * DataSource of a plain one
 */
export async function noteEffects(
  runner: Runner,
  delays: readonly Done[],
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

import type { Client } from 'pg';
import { PreparedStatements } from '../../src/delay-queue/database/prepared-statements.js';
import { engineSettings } from '../../src/delay-queue/database/connection-config.js';
import type { HistoryKept } from '../../src/delay-queue/api/delay.js';
import { AttemptStore } from '../../src/delay-queue/store/attempt.store.js';
import { LimitStore } from '../../src/delay-queue/store/limit.store.js';
import type { Hears } from './adapter.js';

const QUERY_TIMEOUT_MS = 15_000;

/** The engine's statements on one session, without the engine. */
export function engineStoreOn(client: Client, kept: HistoryKept): AttemptStore {
  const prepared = new PreparedStatements(engineSettings(QUERY_TIMEOUT_MS));
  prepared.use();
  const runner = {
    query: async <Row>(sql: string, parameters: unknown[]): Promise<Row[]> => {
      await prepared.applySettings(client);
      return prepared.run<Row>(client, sql, parameters);
    },
  };
  return new AttemptStore(runner, 'delay_queue', kept, 'bench');
}

/** What can be claimed now, in the order in which the engine would. */
export async function dueOn(client: Client): Promise<{ id: number; epoch: number }[]> {
  const { rows } = await client.query<{ due: string }>(
    `SELECT json_agg(json_build_object('id', id, 'epoch', epoch) ORDER BY wake_at, id)::text AS due
     FROM delay_queue.delay WHERE wake_at <= clock_timestamp()`,
  );
  return JSON.parse(rows[0]?.due ?? '[]') as { id: number; epoch: number }[];
}

/** Of the engine in this process: claims of names with limits, too. */
export function tellClaims(hears: Hears): void {
  for (const { prototype } of [AttemptStore, LimitStore]) {
    const claim = prototype.claim as (...given: unknown[]) => Promise<never>;
    prototype.claim = function (...given: unknown[]) {
      hears.claimed();
      return claim.apply(this, given);
    };
  }
}

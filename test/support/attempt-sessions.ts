import type { INestApplicationContext } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import type { AttemptPool } from '../../src/delay-queue/core/database/attempt-pool.js';
import { Engine } from '../../src/delay-queue/core/engine/engine.js';

/** The sessions on which a node runs transactional attempts. */
export const attemptPoolOf = ({ app }: { app: INestApplicationContext }): AttemptPool =>
  app.get(Engine).connections!.attempts;

/**
 * Takes so many of them, as if handlers never ended. @returns what gives them back
 * @param withinMs how long an attempt waits for one from then on; default 5 s
 */
export async function occupyAttempts(
  node: { app: INestApplicationContext },
  count: number,
  withinMs?: number,
): Promise<() => void> {
  const pool = attemptPoolOf(node);
  const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()));
  const { options } = Reflect.get(pool, 'pool') as Pool;
  Object.assign(options, { connectionTimeoutMillis: withinMs ?? options.connectionTimeoutMillis });
  return () => {
    for (const client of clients) client.release();
  };
}

/** The session of a handler's manager, behind all guards. */
export const sessionBehind = (manager: EntityManager): PoolClient & { processID: number } =>
  Reflect.get(manager.queryRunner as object, 'databaseConnection');

import type { Client } from 'pg';
import type { Random } from '../../../src/random.js';
import type { World } from '../world.js';
import { inSeconds, type ChaosFault } from './chaos-fault.js';
import { withForeignSession } from './foreign-session.js';

/**
 * A part of the rows, another one each time. It waits for nobody, so it is never half of a deadlock:
 * the engine may be slowed down by a stranger, and is not to be blamed for one.
 */
const SOME_ROWS = `SELECT id FROM delay_queue.delay WHERE hashint8extended(id, $1) % 100 BETWEEN 0 AND $2
  ORDER BY id FOR UPDATE SKIP LOCKED`;

const LOCK_NOT_AVAILABLE = '55P03';

export const locks: ChaosFault = {
  kind: 'locks',
  title: 'a stranger locks random delays, and for a moment the whole table, as an ALTER does',
  run: (world, random) =>
    withForeignSession(world, async (session) => {
      let locked = 0;
      for (let times = random.integer(1, 3); times > 0; times--) {
        locked += await lockRows(world, random, session);
      }
      const tableMs = await lockTable(world, random, session);
      world.log(`${locked} delays locked by a stranger, then the table for ${inSeconds(tableMs)}`);
    }),
};

async function lockRows(world: World, random: Random, session: Client): Promise<number> {
  await session.query('BEGIN');
  const seed = random.integer(0, 2 ** 31);
  const { rowCount } = await session.query(SOME_ROWS, [seed, random.integer(5, 90)]);
  await world.sleep(random.integer(500, 3_000));
  await session.query('ROLLBACK');
  return rowCount ?? 0;
}

/** Waits no longer for it than a careful migration does: whoever comes later waits behind it. */
async function lockTable(world: World, random: Random, session: Client): Promise<number> {
  const heldMs = random.integer(100, 1_500);
  for (let tries = 0; tries < 5; tries++) {
    await session.query(`BEGIN; SET LOCAL lock_timeout = '1s'`);
    try {
      await session.query('LOCK TABLE delay_queue.delay IN ACCESS EXCLUSIVE MODE');
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
      await session.query('ROLLBACK');
      await world.sleep(random.integer(50, 300));
      continue;
    }
    await world.sleep(heldMs);
    await session.query('ROLLBACK');
    return heldMs;
  }
  return 0;
}

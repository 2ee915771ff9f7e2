import { Client } from 'pg';
import type { Random } from '../../../src/random.js';
import { IS_LISTENER } from '../../support/listener.js';
import { isAway, untilBack } from '../server/away.js';
import { RUN_APPLICATION } from '../server/chaos-server.js';
import type { World } from '../world.js';
import { type Fault, inSeconds } from './fault.js';

/** Sessions of the run's processes; those of the run itself are called otherwise. */
const SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1`;

/**
 * A part of the rows, another one each time. It waits for nobody, so it is never half of a deadlock:
 * the engine may be slowed down by a stranger, and is not to be blamed for one.
 */
const LOCK_ROWS = `SELECT id FROM delay_queue.delay WHERE hashint8extended(id, $1) % 100 BETWEEN 0 AND $2
  ORDER BY id FOR UPDATE SKIP LOCKED`;

const LOCK_NOT_AVAILABLE = '55P03';

export const DATABASE: readonly Fault[] = [
  {
    kind: 'crash',
    title: 'Postgres is stopped with -m immediate, stays down for a while, and recovers',
    run: async (world, random) => {
      const downMs = random.integer(0, 5_000);
      world.log(`Postgres crashed, starts again in ${inSeconds(downMs)}`);
      await world.database.crash(downMs);
      await world.sleep(random.integer(0, 1_000));
    },
  },
  {
    kind: 'terminate',
    title: 'sessions are ended by pg_terminate_backend; at times all that LISTEN, and no others',
    run: async (world, random) => {
      const onlyListening = random.chance(0.3);
      const some = onlyListening ? `${SESSIONS} AND ${IS_LISTENER}` : SESSIONS;
      let ended = 0;
      for (let rounds = random.integer(3, 6); rounds > 0; rounds--) {
        const sessions = await world.database.sql<{ pid: number }>(some, [RUN_APPLICATION]);
        const share = onlyListening ? 1 : random.next();
        const pids = sessions.map(({ pid }) => pid).filter(() => random.chance(share));
        await world.database.sql('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [
          pids,
        ]);
        ended += pids.length;
        await world.sleep(random.integer(100, 1_500));
      }
      world.log(`${ended} ${onlyListening ? 'listening ' : ''}sessions ended`);
    },
  },
  {
    kind: 'locks',
    title: 'a stranger locks random delays, and for a moment the whole table, as an ALTER does',
    run: (world, random) =>
      withStranger(world, async (session) => {
        world.log('delays locked by a stranger, then the table');
        for (let times = random.integer(1, 3); times > 0; times--) {
          await session.query('BEGIN');
          const seed = random.integer(0, 2 ** 31);
          await session.query(LOCK_ROWS, [seed, random.integer(5, 90)]);
          await world.sleep(random.integer(500, 3_000));
          await session.query('ROLLBACK');
        }
        await lockTable(world, random, session);
      }),
  },
  {
    kind: 'snapshot',
    title: 'a REPEATABLE READ transaction keeps its snapshot, so that dead rows pile up',
    run: (world, random) =>
      withStranger(world, async (session) => {
        const heldMs = random.integer(4_000, 10_000);
        world.log(`a snapshot is held for ${inSeconds(heldMs)}`);
        await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        // Any statement takes it. This one locks no table, which is what `locks` is for.
        await session.query('SELECT pg_current_snapshot()');
        await world.sleep(heldMs);
      }),
  },
];

/** Waits no longer for it than a careful migration does: whoever comes later waits behind it. */
async function lockTable(world: World, random: Random, session: Client): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    await session.query(`BEGIN; SET LOCAL lock_timeout = '1s'`);
    try {
      await session.query('LOCK TABLE delay_queue.delay IN ACCESS EXCLUSIVE MODE');
      await world.sleep(random.integer(100, 1_500));
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
      await session.query('ROLLBACK');
      await world.sleep(random.integer(50, 300));
    }
  }
}

/**
 * A session straight at the server. What it holds it gives back at the end; a crash of the server
 * takes it away earlier, and then there is nothing left to do.
 */
async function withStranger(
  { database }: World,
  harm: (session: Client) => Promise<void>,
): Promise<void> {
  const how = { connectionString: database.url, application_name: RUN_APPLICATION };
  const session = await untilBack(async () => {
    const client = new Client(how);
    client.on('error', () => {});
    await client.connect();
    return client;
  });
  try {
    await harm(session);
  } catch (error) {
    if (!isAway(error)) throw error;
  } finally {
    // Its transaction is rolled back with it.
    await session.end().catch(() => {});
  }
}

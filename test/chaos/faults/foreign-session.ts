import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { isAway } from '../server/away.js';
import { RUN_APPLICATION } from '../server/steady-sql.js';
import type { World } from '../world.js';

const AWAY_AT_MOST_MS = 60_000;
const KNOCK_EVERY_MS = 100;

/**
 * A session of a stranger's, straight at the server. What it holds it gives back at the end; a crash
 * of the server takes it away earlier, and then there is nothing left to do.
 */
export async function withForeignSession(
  world: World,
  harm: (session: Client) => Promise<void>,
): Promise<void> {
  const session = await connect(world);
  try {
    await harm(session);
  } catch (error) {
    if (!isAway(error)) throw error;
  } finally {
    // Its transaction is rolled back with it.
    await session.end().catch(() => {});
  }
}

async function connect({ server }: World): Promise<Client> {
  const giveUpAtMs = performance.now() + AWAY_AT_MOST_MS;
  for (;;) {
    const session = new Client({
      connectionString: server.url,
      application_name: RUN_APPLICATION,
      connectionTimeoutMillis: 5_000,
    });
    session.on('error', () => {});
    try {
      await session.connect();
      return session;
    } catch (error) {
      await session.end().catch(() => {});
      if (!isAway(error) || performance.now() > giveUpAtMs) throw error;
    }
    await pause(KNOCK_EVERY_MS);
  }
}

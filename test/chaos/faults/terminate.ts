import { IS_LISTENER } from '../../support/listener.js';
import { RUN_APPLICATION } from '../server/steady-sql.js';
import type { ChaosFault } from './chaos-fault.js';

/** Sessions of the run's processes; those of the run itself are called otherwise. */
const SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1`;

const LISTENING = `${SESSIONS} AND ${IS_LISTENER}`;

export const terminate: ChaosFault = {
  kind: 'terminate',
  title: 'sessions are ended by pg_terminate_backend; at times all that LISTEN, and no others',
  run: async (world, random) => {
    const { server } = world;
    const onlyListening = random.chance(0.3);
    let ended = 0;
    for (let rounds = random.integer(3, 6); rounds > 0; rounds--) {
      const sessions = await server.sql<{ pid: number }>(onlyListening ? LISTENING : SESSIONS, [
        RUN_APPLICATION,
      ]);
      const share = onlyListening ? 1 : random.next();
      const pids = sessions.map(({ pid }) => pid).filter(() => random.chance(share));
      await server.sql('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [pids]);
      ended += pids.length;
      await world.sleep(random.integer(100, 1_500));
    }
    world.log(`${ended} ${onlyListening ? 'listening ' : ''}sessions ended`);
  },
};

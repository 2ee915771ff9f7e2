import { inSeconds, type ChaosFault } from './chaos-fault.js';
import { withForeignSession } from './foreign-session.js';

export const snapshot: ChaosFault = {
  kind: 'snapshot',
  title: 'a REPEATABLE READ transaction keeps its snapshot, so that dead rows pile up',
  run: (world, random) =>
    withForeignSession(world, async (session) => {
      const heldMs = random.integer(4_000, 10_000);
      world.log(`a snapshot is held for ${inSeconds(heldMs)}`);
      await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      // Any statement takes it. This one locks no table, which is what `locks` is for.
      await session.query('SELECT pg_current_snapshot()');
      await world.sleep(heldMs);
      await session.query('ROLLBACK');
    }),
};

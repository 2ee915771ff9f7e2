import { inSeconds, type ChaosFault } from './chaos-fault.js';

export const crash: ChaosFault = {
  kind: 'crash',
  title: 'Postgres is stopped with -m immediate, stays down for a while, and recovers',
  run: async (world, random) => {
    const downMs = random.integer(0, 5_000);
    world.log(`Postgres crashed, starts again in ${inSeconds(downMs)}`);
    await world.server.crash(downMs);
    await world.sleep(random.integer(0, 1_000));
  },
};

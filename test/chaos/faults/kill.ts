import { inSeconds, onNode, type ChaosFault } from './chaos-fault.js';

export const kill: ChaosFault = {
  kind: 'kill',
  title: 'a process is killed with SIGKILL at a random moment, and replaced after a while',
  run: (world, random) =>
    onNode(world, random, async (node) => {
      await world.sleep(random.integer(0, 2_000));
      const downMs = random.integer(0, 4_000);
      world.log(`${node.slot} killed, back in ${inSeconds(downMs)}`);
      await node.kill();
      try {
        await world.sleep(downMs);
      } finally {
        await node.start();
      }
    }),
};

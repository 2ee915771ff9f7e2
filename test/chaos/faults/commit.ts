import type { Random } from '../../../src/random.js';
import type { ChaosProxy, World } from '../world.js';
import { onNode, type ChaosFault } from './chaos-fault.js';

export const commitLost: ChaosFault = {
  kind: 'commit-lost',
  title: 'connections of a process are reset just before a COMMIT reaches the server',
  run: (world, random) => eachCommit(world, random, (proxy) => proxy.cutBeforeCommit()),
};

export const commitUnanswered: ChaosFault = {
  kind: 'commit-unanswered',
  title: 'connections of a process are reset just after a COMMIT was done, before it hears of it',
  run: (world, random) => eachCommit(world, random, (proxy) => proxy.cutAfterCommit()),
};

async function eachCommit(
  world: World,
  random: Random,
  arm: (proxy: ChaosProxy) => void,
): Promise<void> {
  await onNode(world, random, async (node) => {
    world.log(`${node.slot} cut off at COMMIT`);
    try {
      for (let times = random.integer(5, 15); times > 0; times--) {
        arm(node.proxy);
        await world.sleep(random.integer(50, 700));
      }
    } finally {
      node.proxy.heal();
    }
  });
}

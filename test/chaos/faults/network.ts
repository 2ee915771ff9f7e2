import type { Random } from '../../../src/random.js';
import type { PostgresProxy } from '../proxy/proxy.js';
import type { World } from '../world.js';
import { type Fault, inSeconds } from './fault.js';

/** The engine gives a statement 15 s before it takes the connection for dead. */
const SHORTER_MS = { min: 3_000, max: 12_000 };
const LONGER_MS = { min: 15_500, max: 19_000 };

export const NETWORK: readonly Fault[] = [
  {
    kind: 'cut',
    title: 'all connections of a process are reset, several times',
    run: (world, random) =>
      world.withOne(random, async (node) => {
        const times = random.integer(2, 10);
        world.log(`${node.slot} cut off ${times} times`);
        for (let left = times; left > 0; left--) {
          node.proxy.cut();
          // Short ones hit connections that are just being made.
          await world.sleep(
            random.chance(0.5) ? random.integer(0, 50) : random.integer(100, 1_000),
          );
        }
      }),
  },
  {
    kind: 'latency',
    title: 'packets between a process and the server take up to a second, more or less by turns',
    run: (world, random) =>
      world.withOne(random, async (node) => {
        const worstMs = random.pick([20, 100, 400, 1_000]);
        world.log(`${node.slot} up to ${worstMs} ms away from the server`);
        for (let spells = random.integer(2, 6); spells > 0; spells--) {
          node.proxy.delay(random.integer(1, worstMs));
          await world.sleep(random.integer(500, 1_500));
        }
        node.proxy.delay(0);
      }),
  },
  {
    kind: 'half-open',
    title:
      'connections of a process stay open while nothing passes; later all arrives late, or is lost',
    run: (world, random) =>
      world.withOne(random, async (node) => {
        const { min, max } = random.chance(0.6) ? SHORTER_MS : LONGER_MS;
        const stillMs = random.integer(min, max);
        const isLost = random.chance(0.4);
        const after = isLost ? 'reset' : 'on';
        world.log(`${node.slot} half-open for ${inSeconds(stillMs)}, then ${after}`);
        node.proxy.halfOpen();
        await world.sleep(stillMs);
        if (isLost) node.proxy.cut();
        node.proxy.heal();
      }),
  },
  {
    kind: 'commit-lost',
    title: 'connections of a process are reset just before a COMMIT reaches the server',
    run: (world, random) => cutCommits(world, random, (proxy) => proxy.cutBeforeCommit()),
  },
  {
    kind: 'commit-unanswered',
    title: 'connections of a process are reset just after a COMMIT was done, before it hears of it',
    run: (world, random) => cutCommits(world, random, (proxy) => proxy.cutAfterCommit()),
  },
];

function cutCommits(
  world: World,
  random: Random,
  arm: (proxy: PostgresProxy) => void,
): Promise<void> {
  return world.withOne(random, async (node) => {
    world.log(`${node.slot} cut off at COMMIT`);
    for (let times = random.integer(5, 15); times > 0; times--) {
      arm(node.proxy);
      await world.sleep(random.integer(50, 700));
    }
    node.proxy.heal();
  });
}

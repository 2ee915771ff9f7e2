import type { Random } from '../../../src/random.js';
import { LEASE_MS } from '../processes/process.protocol.js';
import type { World } from '../world.js';
import { type Fault, inSeconds } from './fault.js';

const HOUR_MS = 3_600_000;

export const ONE_PROCESS: readonly Fault[] = [
  {
    kind: 'kill',
    title: 'a process is killed with SIGKILL at a random moment, and replaced after a while',
    run: (world, random) =>
      world.withOne(random, async (node) => {
        await world.sleep(random.integer(0, 2_000));
        const downMs = random.integer(0, 4_000);
        world.log(`${node.slot} killed, back in ${inSeconds(downMs)}`);
        await node.kill();
        await world.sleep(downMs);
        await node.start();
      }),
  },
  {
    kind: 'pause',
    title: 'a process is stopped with SIGSTOP for longer than its leases, and goes on',
    run: (world, random) =>
      stopFor(world, random, Math.round(LEASE_MS * (1.1 + 1.9 * random.next()))),
  },
  {
    kind: 'pause-short',
    title: 'a process is stopped with SIGSTOP for less than a lease, several times',
    run: async (world, random) => {
      for (let times = random.integer(2, 5); times > 0; times--) {
        await stopFor(world, random, random.integer(20, Math.floor(LEASE_MS * 0.8)));
        await world.sleep(random.integer(0, 500));
      }
    },
  },
  {
    kind: 'block',
    title: 'the event loop of a process is blocked for longer than its leases',
    run: (world, random) =>
      world.withOne(random, async (node) => {
        const blockMs = Math.round(LEASE_MS * (1.1 + 1.4 * random.next()));
        world.log(`${node.slot} blocked for ${inSeconds(blockMs)}`);
        node.order({ blockMs });
        await world.sleep(blockMs);
      }),
  },
  {
    kind: 'clock',
    title: 'a process starts with a wall clock that is an hour off, which then jumps about',
    run: (world, random) =>
      world.withOne(random, async (node) => {
        const clockShiftMs = random.pick([-HOUR_MS, HOUR_MS]);
        world.log(`${node.slot} starts with its clock ${inSeconds(clockShiftMs)} off`);
        await node.kill();
        await node.start({ clockShiftMs });
        for (let jumps = random.integer(2, 4); jumps > 0; jumps--) {
          await world.sleep(random.integer(500, 1_500));
          node.order({ jumpMs: random.integer(-2 * HOUR_MS, 2 * HOUR_MS) });
        }
        await world.sleep(random.integer(500, 1_500));
        // No order makes the clock right again, another process has a right one.
        await node.kill();
        await node.start();
      }),
  },
  {
    kind: 'pool',
    title: "the application takes all connections of a process's pool and keeps them",
    run: (world, random) =>
      world.withOne(random, async (node) => {
        const holdPoolMs = random.integer(LEASE_MS, 3 * LEASE_MS);
        world.log(`${node.slot} without a free connection for ${inSeconds(holdPoolMs)}`);
        node.order({ holdPoolMs });
        await world.sleep(holdPoolMs);
      }),
  },
];

function stopFor(world: World, random: Random, ms: number): Promise<void> {
  return world.withOne(random, async (node) => {
    world.log(`${node.slot} stopped for ${inSeconds(ms)}`);
    node.pause();
    await world.sleep(ms);
    node.resume();
  });
}

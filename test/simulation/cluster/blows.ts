import type { Random } from '../../../src/random.js';
import type { Cluster } from './cluster.js';

/** Deals a number of blows to nodes and server, at seeded moments while there is trouble. */
export function dealBlows(cluster: Cluster): void {
  const { world } = cluster;
  const random = world.random.fork('blows');
  const { blows, troubleMs } = world.scenario;
  for (let blow = 0; blow < blows; blow += 1) {
    world.timeline.after(random.next() * troubleMs, () => strike(cluster, random));
  }
}

function strike(cluster: Cluster, random: Random): void {
  cluster.blows += 1;
  const { world, living, serving, server } = cluster;
  switch (random.integer(0, 8)) {
    case 0:
    case 1:
      if (living.length > 0) cluster.kill(random.pick(living));
      return;
    case 2:
    case 3: {
      if (living.length === 0) return;
      const node = random.pick(living);
      const forMs = random.next() * random.pick([500, 8_000, 20_000]);
      world.note(node.name, `SIGSTOP for ${forMs.toFixed(0)} ms`);
      node.process.pause(forMs);
      return;
    }
    case 4:
      if (serving.length > 0) cluster.drain(random.pick(serving));
      return;
    case 5:
      return cluster.stopServer(random.next() * 3_000);
    case 6: {
      const session = random.pick([...server.sessions.all(), undefined]);
      if (session === undefined) return;
      world.note('db', `backend ${session.pid} dies`);
      return server.endSession(session, new Error('terminating connection'));
    }
    case 7: {
      // Another server took over, whose clock is not the same.
      server.clockOffsetMs += random.integer(-1_500, 1_500);
      world.note('db', `its clock is now off by ${server.clockOffsetMs} ms`);
      return;
    }
    default: {
      const byMs = random.pick([-3_600_000, -700, 700, 3_600_000]);
      const node = living.length > 0 ? random.pick(living) : undefined;
      // A node's own wall clock may be anywhere; nothing looks at it.
      if (node) node.process.wallOffsetMs += byMs;
    }
  }
}

import { EndChecks } from './check/end-checks.js';
import { Clients } from './cluster/clients.js';
import { Cluster } from './cluster/cluster.js';
import { dealBlows } from './cluster/blows.js';
import { scenarioOf } from './scenario.js';
import { play } from './time/play.js';
import { World } from './world.js';

export interface Outcome {
  seed: number;
  violation: string | undefined;
  trace: readonly string[];
  /** Figures of the run, for those who want to know what was simulated. */
  figures: Record<string, number>;
}

/** Plays one seed to its end. */
export async function runSeed(seed: number, { isTraced = false } = {}): Promise<Outcome> {
  const world = new World(scenarioOf(seed), isTraced);
  const { scenario, timeline, random } = world;
  world.note('seed', JSON.stringify(scenario));
  const cluster = new Cluster(world);
  cluster.superviseEvery(500);
  void new Clients(cluster);
  dealBlows(cluster);
  const end = new EndChecks(cluster);
  timeline.after(scenario.troubleMs, () => {
    world.note('', 'no more trouble');
    cluster.calmDown();
    end.begin();
  });
  const dice = random.fork('Math.random');
  await play(
    timeline,
    () => dice.next(),
    () => end.isOver || world.violation !== undefined,
  );
  const { violation, trace } = world;
  return { seed, violation, trace, figures: end.figures() };
}

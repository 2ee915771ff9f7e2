import { type Random, randomOf } from '../support/random.js';
import { weighed } from '../chaos/load/weighed.js';
import { type Act, NAMES, type Program, type Setup } from './program.js';
import { Scripts } from './scripts.js';

const KEYS = 4;

/** The program of that seed, always the same. */
export function programOf(seed: string): Program {
  const random = randomOf(seed);
  const scripts = new Scripts(random.fork('scripts'));
  const before = NAMES.flatMap((name) =>
    Array.from({ length: KEYS }, (_, index) => ({
      ...scripts.wish(scripts.handler()),
      name,
      key: `k${index + 1}`,
    })),
  );
  const setup = setupOf(random.fork('setup'));
  const sessions = Array.from({ length: random.integer(2, 4) }, () =>
    Array.from({ length: random.integer(2, 5) }, () => actOf(random, scripts, setup)),
  );
  return { seed, setup, before, sessions };
}

function actOf(random: Random, scripts: Scripts, { poolMax }: Setup): Act {
  return weighed<() => Act>(random, [
    [
      60,
      () => ({
        is: 'transaction',
        steps: scripts.transaction(),
        ends: random.chance(0.75) ? 'commits' : 'throws',
      }),
    ],
    [15, () => ({ is: 'alone', call: scripts.call() })],
    [8, () => ({ is: 'pause', ms: random.integer(1, 150) })],
    [8, () => ({ is: 'hogs', connections: poolMax, ms: random.integer(300, 1_000) })],
    [9, () => ({ is: 'false hint', slot: scripts.slot() })],
  ])();
}

/**
 * Mostly with loads and sweeps so rare that what the node believes cannot be mended by them, while a
 * program lasts.
 */
function setupOf(random: Random): Setup {
  const connectionTimeoutMs = random.chance(0.4) ? random.integer(250, 500) : undefined;
  return {
    way: weighed<Setup['way']>(random, [
      [85, 'url'],
      [5, 'fields'],
      [5, 'password function'],
      [5, 'replication'],
    ]),
    nodes: random.chance(0.75) ? 1 : 2,
    poolMax: random.integer(5, 12),
    ...(connectionTimeoutMs !== undefined && { connectionTimeoutMs }),
    leaseMs: random.pick([3_600_000, 3_600_000, 600_000, 5_000]),
    horizonMs: 55_000,
    loadEveryMs: 50_000,
    concurrency: random.integer(2, 10),
    ...(random.chance(0.05) && { volatileTimers: random.integer(1, 50) }),
  };
}

import { type Random, randomOf } from '../../src/random.js';
import { weighed } from '../chaos/load/weighed.js';
import { type Act, NAMES, type Program, type Setup } from './program.js';
import { Scripts } from './scripts.js';

const KEYS = 4;

/** How a server shows what one reads; any administrator may say so. */
const HOSTILE_SETTINGS = {
  array_nulls: 'off',
  DateStyle: 'SQL, DMY',
  extra_float_digits: '-3',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
} as const;

/** The program of that seed, always the same. */
export function programOf(seed: string): Program {
  const random = randomOf(seed);
  const scripts = new Scripts(random.fork('scripts'));
  const spoils = spoilerOf(random.fork('spoilt commits'));
  const before = NAMES.flatMap((name) =>
    Array.from({ length: KEYS }, (_, index) => ({
      ...scripts.wish({ ...scripts.handler(), ...(spoils() && { spoilsCommit: true }) }),
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

/** Some programs have it, and then several of their handlers: most of those are called for something else. */
function spoilerOf(random: Random): () => boolean {
  const chance = random.chance(0.35) ? 0.6 : 0;
  return () => random.chance(chance);
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
      [70, 'url'],
      [10, 'fields'],
      [10, 'password function'],
      [10, 'replication'],
    ]),
    nodes: random.chance(0.75) ? 1 : 2,
    poolMax: random.integer(5, 12),
    ...(connectionTimeoutMs !== undefined && { connectionTimeoutMs }),
    leaseMs: random.pick([3_600_000, 3_600_000, 600_000, 5_000]),
    horizonMs: 55_000,
    loadEveryMs: 50_000,
    concurrency: random.integer(2, 10),
    ...(random.chance(0.1) && { volatileTimers: random.integer(1, 50) }),
    ...(random.fork('settings').chance(0.15) && { settings: HOSTILE_SETTINGS }),
  };
}

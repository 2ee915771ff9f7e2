import type { DelayQueueOptions, OnDelayBatchOptions, OnDelayOptions } from 'nestjs-delay-queue';
import { randomOf, type Random } from '../../src/random.js';
import { CALM, type Weather } from './postgres/network.js';

/** Who handles what, and how much of it. */
export interface Kind {
  name: `test.${string}`;
  options: OnDelayOptions | OnDelayBatchOptions;
}

/** Everything about a run that its seed decides beforehand. */
export interface Scenario {
  seed: number;
  /** Nothing fails, and so lateness has a bound. */
  isCalm: boolean;
  nodes: { name: string; serves: string[]; startsAtMs: number }[];
  kinds: Kind[];
  options: DelayQueueOptions;
  poolMax: number;
  weather: Weather;
  /** Until then clients call, and things go wrong. */
  troubleMs: number;
  clients: number;
  /** When they begin. */
  callsFromMs: number;
  /** Statements of a while without work are counted at the end. */
  isIdleCounted: boolean;
  keys: number;
  /** Of one statement to be held between its last row and its commit. */
  holdChance: number;
  /** Things done to nodes and server: killed, paused, drained, restarted. */
  blows: number;
  /** How often a handler does what it should. */
  goodChance: number;
}

const pickMs = (random: Random, ...choices: number[]): number => random.pick(choices);

export function scenarioOf(seed: number): Scenario {
  const random = randomOf(seed).fork('scenario');
  const isCalm = random.chance(0.15);
  const kinds = kindsOf(random, isCalm);
  const names = kinds.map((kind) => kind.name);
  const loadEvery = pickMs(random, 500, 1_000, 2_500);
  const nodes = Array.from({ length: random.pick([1, 2, 2, 3, 3, 4]) }, (_, index) => ({
    name: 'abcd'[index]!,
    // Always one that serves everything; the others are as a rolling deploy leaves them.
    serves: index === 0 || random.chance(0.7) ? names : names.filter(() => random.chance(0.5)),
    startsAtMs: isCalm || index === 0 || random.chance(0.6) ? 0 : random.integer(0, 8_000),
  }));
  return {
    seed,
    isCalm,
    nodes,
    kinds,
    poolMax: isCalm ? 60 : random.integer(2, 6),
    options: {
      concurrency: isCalm ? 40 : random.integer(1, 6),
      timeout: isCalm ? 15_000 : pickMs(random, 400, 1_500, 4_000),
      maxAttempts: random.integer(1, 5),
      backoff: { base: pickMs(random, 5, 100, 800), max: '2s', jitter: 0.5 },
      lease: pickMs(random, 1_000, 2_500, 6_000),
      horizon: loadEvery + pickMs(random, 700, 3_000, 10_000),
      loadEvery,
      claimBatch: isCalm ? 100 : random.integer(1, 12),
      connections: random.integer(2, 4),
      drainTimeout: pickMs(random, 0, 300, 2_000),
    },
    weather: isCalm ? CALM : weatherOf(random),
    troubleMs: random.integer(5, 9) * 1_000,
    callsFromMs: isCalm ? 3_000 : 20,
    isIdleCounted: random.chance(0.1),
    clients: random.integer(1, 4),
    keys: random.integer(2, 12),
    holdChance: isCalm ? 0 : random.pick([0, 0.1, 0.4]),
    blows: isCalm ? 0 : random.integer(0, 6),
    goodChance: isCalm ? 1 : random.pick([0.95, 0.7, 0.3]),
  };
}

function kindsOf(random: Random, isCalm: boolean): Kind[] {
  const kinds: Kind[] = [
    { name: 'test.plain', options: {} },
    { name: 'test.fenced', options: { transactional: true } },
    { name: 'test.single', options: isCalm ? {} : { concurrency: 1 } },
    { name: 'test.twice', options: { maxAttempts: 2, transactional: random.chance(0.5) } },
  ];
  const batches: Kind[] = [
    { name: 'test.batch', options: { batch: random.integer(2, 5) } },
    { name: 'test.batch-fenced', options: { batch: random.integer(2, 5), transactional: true } },
  ];
  return [
    ...kinds.slice(0, random.integer(1, kinds.length)),
    ...batches.filter(() => random.chance(0.5)),
  ];
}

function weatherOf(random: Random): Weather {
  return {
    latencyMs: random.pick([
      { min: 0.1, max: 2 },
      { min: 1, max: 30 },
    ]),
    slowChance: random.pick([0, 0.02, 0.1]),
    slowMs: random.pick([50, 1_500]),
    faultChance: random.pick([0, 0.01, 0.06]),
    hears: random.chance(0.85),
  };
}

import { describe, expect, it } from '@jest/globals';
import { runSeed } from './run-seed.js';

/** One seed to replay, with its trace. */
const SEED = process.env['SIMULATION_SEED'];

/** How many seeds, from the first on; more for long runs by hand. */
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 300);
const FIRST_SEED = Number(process.env['SIMULATION_FROM'] ?? 1);

/** Seeds of one test, so that a run of very many says how far it is. */
const SEEDS_PER_TEST = 1_000;

/** Seeds of which it is looked what was simulated. */
const LOOKED_AT = 20;

/** A busy machine may take its time. */
const TEST_WITHIN_MS = 20 * 60_000;

/** What happened last is what matters; the replay by hand shows all of it. */
const LINES_MAX = 150;

const replay = (seed: number): string =>
  `SIMULATION_SEED=${seed} npm test -- test/simulation/simulation`;

/** The same seed once more, this time with its trace. */
async function failure(seed: number): Promise<string> {
  const { violation, trace } = await runSeed(seed, { isTraced: true });
  const scenario = trace[0] ?? '';
  const lines = trace.slice(1).slice(-LINES_MAX);
  return [
    `seed ${seed}: ${violation}`,
    `replay: ${replay(seed)}`,
    scenario,
    `last ${lines.length} of ${trace.length} lines (ms, who, what):`,
    ...lines,
  ].join('\n');
}

async function firstFailure(from: number, count: number): Promise<string | undefined> {
  for (let seed = from; seed < from + count; seed += 1) {
    const { violation } = await runSeed(seed);
    if (violation !== undefined) return failure(seed);
    // Jest and the process get their turn between two seeds.
    await new Promise(setImmediate);
  }
  return undefined;
}

if (SEED !== undefined) {
  describe(`the simulation of seed ${SEED}`, () => {
    it('keeps every promise', async () => {
      const { violation, trace, figures } = await runSeed(Number(SEED), { isTraced: true });
      process.stdout.write(`${trace.join('\n')}\n${JSON.stringify(figures, null, 1)}\n`);
      expect(violation).toBeUndefined();
    });
  });
} else {
  describe('the engine against a simulated Postgres, clock, network and fate', () => {
    const parts = Array.from({ length: Math.ceil(SEEDS / SEEDS_PER_TEST) }, (_, part) => ({
      from: FIRST_SEED + part * SEEDS_PER_TEST,
      count: Math.min(SEEDS_PER_TEST, SEEDS - part * SEEDS_PER_TEST),
    }));

    it.each(parts)(
      'keeps every promise in $count runs from seed $from on',
      async ({ from, count }) => {
        expect(await firstFailure(from, count)).toBeUndefined();
      },
      TEST_WITHIN_MS,
    );

    it('has calls of many clients travel in one statement', async () => {
      let shared = 0;
      for (let seed = 1; seed <= LOOKED_AT; seed += 1) {
        const { figures } = await runSeed(seed);
        shared += figures['sql of several calls'] ?? 0;
      }
      expect(shared).toBeGreaterThan(LOOKED_AT);
    });

    it('gives the same run for the same seed', async () => {
      const first = await runSeed(FIRST_SEED, { isTraced: true });
      const second = await runSeed(FIRST_SEED, { isTraced: true });
      expect(first.trace.length).toBeGreaterThan(100);
      expect(second.trace).toEqual(first.trace);
    });
  });
}

import { MUTANTS } from '../chaos/mutants/mutants.js';
import { runChaos } from '../chaos/run.js';
import { ChaosServer } from '../chaos/server/chaos-server.js';
import type { ChaosMutant } from './mutant.js';
import { judgedByChaos, type Judged } from './outcome.js';
import type { Suite } from './suite.js';

/** The real engine, in all the weather that mutants see, must be found without fault. */
const CONTROL: Pick<ChaosMutant, 'faults' | 'seconds' | 'rate'> = {
  faults: [...new Set(Object.values(MUTANTS).flatMap(({ faults = [] }) => faults))],
  seconds: 45,
};

/** A mutant that finishes nothing need not be watched for as long as a real run. */
const QUIET_WITHIN_MS = { mutant: 15_000, control: 90_000 };

/** Until everybody is at work; nothing is compared with it. */
const CALM_MS = 2_000;
const RATE = 80;

/** Runs under the faults that should bring a mutant to light. */
export function chaosSuite(seed: string, signal: AbortSignal): Suite {
  let server: ChaosServer | undefined;

  async function run(name: string, round: string): Promise<Judged> {
    const mutant = MUTANTS[name];
    const { faults = [], seconds, rate = RATE } = mutant ?? CONTROL;
    const result = await runChaos({
      minutes: seconds / 60,
      seed: `${seed}/${name}${round}`,
      faults,
      rate,
      workers: 3,
      // Faults choose their victims among all, and most mutants live in workers.
      producers: mutant === undefined ? 2 : 1,
      calmMs: CALM_MS,
      quietWithinMs: QUIET_WITHIN_MS[mutant === undefined ? 'control' : 'mutant'],
      server: (server ??= await ChaosServer.start()),
      signal,
      log: () => {},
      patches: mutant?.patches ?? [],
    });
    return judgedByChaos(mutant, result);
  }

  return {
    isAbout: (name) => name === 'control' || name in MUTANTS,
    judge: async (name) => {
      const first = await run(name, '');
      if (first.asExpected || name === 'control') return first;
      // Two attempts that have to meet may have missed each other: once more, by other choices.
      const second = await run(name, '/again');
      return { ...second, by: `${second.by}, in a second run` };
    },
    close: async () => server?.stop(),
  };
}

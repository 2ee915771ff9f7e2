/**
 * Proves the checker: the engine as it is must pass, and each mutant of it must be caught.
 *
 * npm run chaos:mutants -- --only claims-before-due,has-no-fence --seed abc
 */
import { parseArgs } from 'node:util';
import { runChaos, type ChaosResult } from '../run.js';
import { ChaosServer } from '../server/chaos-server.js';
import type { Mutant } from './mutant.js';
import { MUTANTS } from './mutants.js';
import { again, outcomeOf, render, type Outcome } from './outcome.js';

/** The real engine, in all the weather that mutants see, must be found without fault. */
const CONTROL: Pick<Mutant, 'faults' | 'seconds'> = {
  faults: [...new Set(Object.values(MUTANTS).flatMap(({ faults }) => faults))],
  seconds: 45,
};

/** A mutant that finishes nothing need not be watched for as long as a real run. */
const QUIET_WITHIN_MS = 15_000;

const CONTROL_QUIET_WITHIN_MS = 90_000;

/** Until everybody is at work; nothing is compared with it. */
const CALM_MS = 2_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: Math.random().toString(36).slice(2, 8) },
    rate: { type: 'string', default: '80' },
    verbose: { type: 'boolean', default: false },
  },
});

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => stopped.abort());
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const names = values.only?.split(',') ?? Object.keys(MUTANTS);
const unknown = names.filter((name) => name !== 'control' && MUTANTS[name] === undefined);
if (unknown.length > 0) {
  say(`no mutant is called ${unknown.join(', ')}; there are ${Object.keys(MUTANTS).join(', ')}`);
  process.exit(2);
}

const server = await ChaosServer.start();
const outcomes: Outcome[] = [];
try {
  if (values.only === undefined) outcomes.push(await observe(undefined, CONTROL));
  for (const name of names) {
    if (stopped.signal.aborted) break;
    const mutant = name === 'control' ? undefined : name;
    const how = mutant === undefined ? CONTROL : (MUTANTS[mutant] as Mutant);
    let outcome = await observe(mutant, how);
    // Two attempts that have to meet may have missed each other: once more, by other choices.
    const missed = mutant !== undefined && !outcome.asExpected && !stopped.signal.aborted;
    if (missed) outcome = again(outcome, await observe(mutant, how, '/again'));
    outcomes.push(outcome);
  }
} finally {
  await server.stop();
}
process.stdout.write(`\n${render(outcomes, values.seed)}\n`);
const asExpected = outcomes.every(({ asExpected: is }) => is);
process.exit(asExpected && !stopped.signal.aborted ? 0 : 1);

/** One run, told in a line as soon as it is over. */
async function observe(
  mutant: string | undefined,
  { faults, seconds, blamedBy, rate = Number(values.rate) }: Omit<Mutant, 'about' | 'apply'>,
  round = '',
): Promise<Outcome> {
  const beganAtMs = performance.now();
  let result: ChaosResult | Error;
  try {
    result = await runChaos({
      minutes: seconds / 60,
      seed: `${values.seed}/${mutant ?? 'control'}${round}`,
      faults,
      rate,
      workers: 3,
      // Faults choose their victims among all, and most mutants live in workers.
      producers: mutant === undefined ? 2 : 1,
      calmMs: CALM_MS,
      quietWithinMs: mutant === undefined ? CONTROL_QUIET_WITHIN_MS : QUIET_WITHIN_MS,
      server,
      signal: stopped.signal,
      log: values.verbose ? say : () => {},
      ...(mutant !== undefined && { mutant }),
    });
  } catch (error) {
    result = error instanceof Error ? error : new Error(String(error));
  }
  const outcome = outcomeOf(mutant, result, performance.now() - beganAtMs, blamedBy);
  say(outcome.line);
  for (const detail of outcome.details) say(detail);
  return outcome;
}

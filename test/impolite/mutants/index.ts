/**
 * Proves the generators: the engine as it is must pass, and each mutant of it must be found.
 *
 *     npm run impolite:mutants -- --only never-seals,believes-hints --seed abc
 *     npm run impolite:mutants -- --tests --only never-seals
 */
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS } from './mutants.js';
import type { Mutant } from './mutant.js';
import { outcomeOf, render, type Outcome } from './outcome.js';
import { runTestsOf } from './regression.js';
import type { Told } from './told.js';

const USAGE = `npm run impolite:mutants -- [options]

The engine with one mend taken out at a time; exit code 0 when programs find each and none blames the real one.

  --only name,name   only these; 'control' is the engine as it is
  --seed TEXT        the programs follow from it (default: a random one, printed)
  --tests            runs the tests that each one names, too: some of each have to fail
  --help`;

const PLAYER = fileURLToPath(new URL('./player.ts', import.meta.url));

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: ['control', ...Object.keys(MUTANTS)].join() },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    tests: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** In a process of its own, whose sources are changed as they are loaded. */
async function play(mutant: string | undefined, program?: string): Promise<Told | Error> {
  const patches = mutant === undefined ? [] : (MUTANTS[mutant] as Mutant).patches;
  const whose = mutant === undefined ? [] : ['--mutant', mutant];
  const which = program === undefined ? ['--seed', values.seed] : ['--once', program];
  const child = fork(PLAYER, [...whose, ...which], {
    env: { ...process.env, SOURCE_PATCHES: JSON.stringify(patches) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let told: Told | undefined;
  child.on('message', (message) => {
    told = message as Told;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return told ?? new Error(`its process ended with ${code} and told nothing`);
}

async function prove(name: string): Promise<Outcome> {
  const mutant = name === 'control' ? undefined : name;
  const told = await play(mutant);
  // Else it is not the mutant that the program found.
  const found = told instanceof Error ? undefined : told.found;
  const real = found && (await play(undefined, found.run));
  const outcome = outcomeOf(mutant, told, real);
  console.log(outcome.line);
  for (const detail of outcome.details) console.log(`    ${detail}`);
  return outcome;
}

/** @returns whether each of its tests bites */
async function runTests(name: string): Promise<boolean> {
  const mutant = MUTANTS[name];
  if (mutant === undefined) return true;
  const ran = await runTestsOf(mutant);
  for (const { test, bites, summary } of ran) {
    console.log(`${bites ? '✓' : '✗'} ${name}: ${test}: ${summary}`);
  }
  return ran.every(({ bites }) => bites);
}

async function proveAll(names: readonly string[]): Promise<void> {
  console.log(`seed ${values.seed}`);
  const outcomes: Outcome[] = [];
  let isGood = true;
  for (const name of names) {
    outcomes.push(await prove(name));
    if (values.tests && !(await runTests(name))) isGood = false;
  }
  console.log(`\n${render(outcomes, values.seed)}`);
  if (!isGood || outcomes.some(({ asExpected }) => !asExpected)) process.exitCode = 1;
}

const names = values.only.split(',');
const unknown = names.filter((name) => name !== 'control' && MUTANTS[name] === undefined);
if (values.help) {
  console.log(USAGE);
} else if (unknown.length > 0) {
  const known = Object.keys(MUTANTS).join(', ');
  console.error(`no mutant is called ${unknown.join(', ')}; there are ${known}`);
  process.exitCode = 2;
} else {
  await proveAll(names);
}

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from '../impolite/mutants/mutants.js';
import type { Told } from '../impolite/mutants/told.js';
import { judgedByPrograms } from './outcome.js';
import type { Suite } from './suite.js';

const PLAYER = fileURLToPath(new URL('../impolite/mutants/player.ts', import.meta.url));

/** In a process of its own, whose sources are changed as they are loaded. */
async function play(mutant: string | undefined, ...which: string[]): Promise<Told> {
  const patches = mutant === undefined ? [] : MUTANTS[mutant]?.patches;
  const whose = mutant === undefined ? [] : ['--mutant', mutant];
  const child = fork(PLAYER, [...whose, ...which], {
    env: { ...process.env, SOURCE_PATCHES: JSON.stringify(patches) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let told: Told | undefined;
  child.on('message', (message) => {
    told = message as Told;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (told === undefined) throw new Error(`its process ended with ${code} and told nothing`);
  return told;
}

/** Programs of impolite callers, until one finds the mutant. */
export const impoliteSuite = (seed: string): Suite => ({
  isAbout: (name) => name === 'control' || name in MUTANTS,
  judge: async (name, mutant) => {
    const told = await play(mutant && name, '--seed', seed);
    // Else it is not the mutant that the program found.
    const real = told.found && (await play(undefined, '--once', told.found.run));
    return judgedByPrograms(mutant !== undefined, told, real);
  },
});

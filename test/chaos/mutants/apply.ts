import { MUTANTS } from './mutants.js';
import { Surgery } from './surgery.js';

/**
 * Turns the library in this process into that mutant. The first thing a worker or a producer of a
 * chaos run does; without a name it stays as it is.
 */
export async function applyMutant(name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const mutant = MUTANTS[name];
  if (mutant === undefined) {
    throw new Error(`no mutant is called ${name}; there are ${Object.keys(MUTANTS).join(', ')}`);
  }
  const surgery = new Surgery();
  mutant.apply(surgery);
  surgery.perform();
}

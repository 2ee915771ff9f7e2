import { beforeAll } from '@jest/globals';

const mutant = process.env['CHAOS_MUTANT'];

// The classes that a test file imports are its own, so each file is operated on anew; and only after its own
// imports, which may put another clock in the place of the machine's.
if (mutant !== undefined) {
  beforeAll(async () => {
    const { applyMutant } = await import('../chaos/mutants/apply.js');
    await applyMutant(mutant);
  });
}

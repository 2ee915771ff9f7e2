import patched from '../impolite/mutants/jest.config.mjs';

/** Sources changed by `SOURCE_PATCHES`, or the engine operated on as `CHAOS_MUTANT` says, before each file. */
export default {
  ...patched,
  reporters: ['<rootDir>/test/mutants-by-suite/reporter.mjs'],
  setupFilesAfterEnv: ['<rootDir>/test/mutants-by-suite/operate.ts'],
};

import { NIGHTLY } from './test/nightly/specs.mjs';
import { STACK_MAPPER } from './tools/stack.mjs';
import { SWC_OPTIONS } from './tools/swc-options.mjs';

/** Jest on native ES modules; swc strips the types, `tsc` checks them in `npm run typecheck`. */
export default {
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  roots: ['<rootDir>/test'],
  // Those of applications run in the applications, `npm run test:apps`, and `test:orms` installs what its own need.
  testRegex: '^(?!.*/test/(?:apps/[^/]+|orms)/).*\\.spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', ...NIGHTLY],
  extensionsToTreatAsEsm: ['.ts'],
  resolver: '<rootDir>/test/support/jest.resolver.cjs',
  moduleNameMapper: {
    '^nestjs-delay-queue$': '<rootDir>/src/delay-queue/index.ts',
    '^nestjs-delay-queue/testing$': '<rootDir>/src/delay-queue/testing/index.ts',
    '^nestjs-delay-queue/opentelemetry$': '<rootDir>/src/delay-queue/opentelemetry/index.ts',
    '^nestjs-delay-queue/adapters$': '<rootDir>/src/delay-queue/adapters/index.ts',
    '^nestjs-delay-queue/dashboard$': '<rootDir>/src/delay-queue/dashboard/index.ts',
    ...STACK_MAPPER,
  },
  transform: { '^.+\\.ts$': ['@swc/jest', SWC_OPTIONS] },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.js'],
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  // Of two cores: most files wait for Postgres, for processes or for a lease. Three workers left a fifth of both idle.
  maxWorkers: 5,
  // Modules of past suites stay in memory: two workers had grown to 2.7 and 3.8 GB at the end of a run, and
  // took longer to give it back than Jest waits for a process to end.
  workerIdleMemoryLimit: '1GB',
  // Who hangs, not who is slow: a machine that others keep busy takes three times as long.
  testTimeout: 120_000,
};

/** For the tests of applications: `nestjs-delay-queue/testing`. Nothing else of the library imports it. */
export {
  type ClearOptions,
  DelayTesting,
  type ExpectedDelay,
  type OverridableModule,
  type PrepareOptions,
} from './delay-testing.js';
export type { DelayRun, RunOutcome } from './delay-run.js';
export { DelayTestingError } from './delay-run.js';
export { DelayStub, type DelayStubOptions, provideDelayStub } from './delay-stub.js';
export type { StubAnswer, StubCall, StubScheduled } from './stub-calls.js';

/** Entry for tests of applications, `nestjs-delay-queue/testing`. Nothing else here imports it. */
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

/** Parts of the engine that specs stand in front of, or call on a database of their own. What moves in `src` moves here alone. */
export { hears, PROBE_MS, startListening } from '../../src/delay-queue/core/cluster/hearing.js';
export { parseHint } from '../../src/delay-queue/core/cluster/hint.js';
export { Nodes } from '../../src/delay-queue/core/cluster/nodes.js';
export { Notifier } from '../../src/delay-queue/core/cluster/notifier.js';
export { SessionProof } from '../../src/delay-queue/core/cluster/session-proof.js';
export { type MoveTo, parseDurationMs } from '../../src/delay-queue/core/config/durations.js';
export {
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../../src/delay-queue/core/config/options.js';
export { encodePayload } from '../../src/delay-queue/core/config/payload-encoder.js';
export { DatabaseClock } from '../../src/delay-queue/core/database/database-clock.js';
export { EngineConnections } from '../../src/delay-queue/core/database/engine-connections.js';
export type { Runner } from '../../src/delay-queue/core/database/runner.js';
export { AttemptStore } from '../../src/delay-queue/core/store/attempt.store.js';
export { DelayStore } from '../../src/delay-queue/core/store/delay.store.js';
export { type LimitBound, LimitStore } from '../../src/delay-queue/core/store/limit.store.js';
export { NodeStore } from '../../src/delay-queue/core/store/node.store.js';
export {
  type DeclaredRow,
  RecurrenceStore,
} from '../../src/delay-queue/core/store/recurrence.store.js';
export { RerunStore } from '../../src/delay-queue/core/store/rerun.store.js';
export { type ClaimedRow, FIRST_PAGE } from '../../src/delay-queue/core/store/rows/answers.js';
export {
  groupNumber,
  NO_LOCK,
  type ProcessLock,
  spread,
} from '../../src/delay-queue/core/store/rows/attempt-rows.js';
export type {
  Shares,
  SweptPage,
  Wake,
  WakeCursor,
} from '../../src/delay-queue/core/store/rows/delay-rows.js';
export { SelectionStore } from '../../src/delay-queue/core/store/selection.store.js';
export { BeginAhead } from '../../src/delay-queue/core/transactions/begin-ahead.js';
export { asRunner } from '../../src/delay-queue/core/transactions/transactions.js';
export type { Attempt } from '../../src/delay-queue/core/worker/attempt.js';
export { Declarations } from '../../src/delay-queue/core/worker/declarations.js';
export { Jobs } from '../../src/delay-queue/core/worker/jobs.js';
export { Loop } from '../../src/delay-queue/core/worker/loop.js';
export { type NameState, NameStates } from '../../src/delay-queue/core/worker/name-state.js';
export {
  createPruners,
  historyWalk,
  type Pruner,
} from '../../src/delay-queue/core/worker/pruner.js';
export { Scanner } from '../../src/delay-queue/core/worker/scanner.js';
export { TimerQueue } from '../../src/delay-queue/core/worker/timer-queue.js';
export { Worker } from '../../src/delay-queue/core/worker/worker.js';
export { HealthStore } from '../../src/delay-queue/ops/health.store.js';
export { toOutcome } from '../../src/delay-queue/core/worker/call.js';
export { Payloads } from '../../src/delay-queue/core/config/payloads.js';
export { Engine } from '../../src/delay-queue/core/engine/engine.js';
export { Idle } from '../../src/delay-queue/core/tasks/recurring-task.js';
export type { HintListener } from '../../src/delay-queue/core/cluster/listener.js';

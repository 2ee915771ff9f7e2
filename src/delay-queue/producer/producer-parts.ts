import type { HistoryKept } from '../delay/attempts.js';
import type { Payloads } from '../payloads/payloads.js';
import type { CallersPool } from '../database/own-pool.js';
import type { Installation } from '../store/tables/schema.js';
import type { AbortsEngine } from './abort/cancels.js';
import type { CommittedWrites } from './announcements.js';
import type { AfterCommit } from './transaction/after-commit.js';

/** What the producer uses of the engine. */
export interface ProducersEngine extends CallersPool, CommittedWrites, AbortsEngine {
  readonly afterCommit: AfterCommit;
  /** A delay was scheduled here, committed or not. */
  scheduled(): void;
}

/** What the producer uses of the module's options. */
export interface ProducerOptions {
  installation: Installation;
  nodeName: string;
  historyKept: HistoryKept;
  /** How long a shutdown waits for answers. */
  drainTimeoutMs: number;
  /** Pause between two heartbeats of a node. */
  loadEveryMs: number;
  payloads: Payloads;
  /** Finds the surrounding transaction. */
  resolveManager?: (() => unknown) | undefined;
}

import type { QueryResultRow } from 'pg';
import type { Random } from '../../src/random.js';

/** The Postgres of the run, which faults may hit. */
export interface ChaosServer {
  /** Straight to the server, past every proxy. Survives restarts: the port stays. */
  readonly url: string;
  /** `pg_ctl stop -m immediate`, a pause, and start again. Resolves when connections are let in. */
  crash(downMs: number): Promise<void>;
  /** One statement on a connection of the run's own, tried again while the server is away. */
  sql<Row extends QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]>;
}

/** What lies between one process and the server; each process has one of its own. */
export interface ChaosProxy {
  readonly url: string;
  /** Every packet of both directions is held up by that long; 0 ends it. */
  delay(ms: number): void;
  /** Resets all connections. New ones are let in. */
  cut(): void;
  /** Connections stay open and nothing passes any more, until `heal`; new ones hang likewise. */
  halfOpen(): void;
  /** The next COMMIT that a client sends reaches the server, and its answer never comes back. */
  cutAfterCommit(): void;
  /** The next COMMIT never reaches the server: the connection is reset instead. */
  cutBeforeCommit(): void;
  heal(): void;
}

export type Role = 'worker' | 'producer';

/** A process of the run. A slot stays when its process is killed and another takes its place. */
export interface ChaosNode {
  /** `worker-1`; the processes that follow one another in it have node names of their own. */
  readonly slot: string;
  readonly role: Role;
  readonly proxy: ChaosProxy;
  readonly running: boolean;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  /** SIGTERM; resolves when it has drained and gone. */
  stop(): Promise<void>;
  /** Another process in this slot; resolves when it is ready. Tries again while the server is away. */
  start(how?: StartHow): Promise<void>;
  /** An order for the process, by IPC; the processes know which they understand. */
  order(order: NodeOrder): void;
}

export interface StartHow {
  /** Names that this node has no handler for: an older build in a rolling deploy. */
  without?: string[];
  /** Its wall clock is off by so much. */
  clockShiftMs?: number;
}

export type NodeOrder =
  /** Blocks the event loop. */
  | { blockMs: number }
  /** Takes every connection of the application's pool and keeps them for so long. */
  | { holdPoolMs: number }
  /** Its wall clock jumps by so much from now on (`Date` alone; the monotonic clock stays). */
  | { jumpMs: number };

/** Everything that a fault may touch. */
export interface World {
  readonly server: ChaosServer;
  readonly nodes: readonly ChaosNode[];
  /**
   * A running node that no other fault has in its hands; waits for one. `release` when it is well again.
   * Faults overlap, and two of them on one node would only hide each other.
   */
  take(random: Random, role?: Role): Promise<{ node: ChaosNode; release: () => void }>;
  /** How long a claim holds, in the nodes of this run. */
  readonly leaseMs: number;
  /** Resolves early, by throwing, when the run is stopped. */
  sleep(ms: number): Promise<void>;
  /** A line of the run's progress. */
  log(line: string): void;
}

/**
 * One kind of fault. `run` does it once, from the first harm to the last mend: when it has resolved,
 * nothing of it is left but what the system itself has to recover from.
 */
export interface Fault {
  readonly kind: string;
  run(world: World, random: Random): Promise<void>;
}

import { randomBytes } from 'node:crypto';

/** A process of the shop, as its supervisor sees it. */
export interface ProcessState {
  name: string;
  /** `null` while it is dead. */
  pid: number | null;
  state: 'up' | 'dead' | 'starting';
  since: string;
}

/** An event of a process. */
export interface ProcessEvent {
  at: string;
  name: string;
  what: 'started' | 'died';
}

/** The processes of this shop, including the present one. */
export abstract class Processes {
  /** The present process: its delays are fired under this name. */
  abstract readonly self: string;
  /** When the shop was started, on the database's clock: lateness and counts begin there. */
  abstract readonly shopStartedAt: Date;

  abstract list(): readonly ProcessState[];
  /** Newest first, only a few. */
  abstract events(): readonly ProcessEvent[];
  /** Like `kill -9`. */
  abstract kill(name: string): void;
}

/** A shop of one process, which nothing restarts: only Ctrl+C ends it. */
export class OneProcess extends Processes {
  /** Several may share a database, each as process 1 of its container. */
  readonly self = `shop-${randomBytes(3).toString('hex')}`;

  /** @param shopStartedAt default: counts all that the history has kept */
  constructor(readonly shopStartedAt = new Date(0)) {
    super();
  }

  list(): readonly ProcessState[] {
    const since = this.shopStartedAt.toISOString();
    return [{ name: this.self, pid: process.pid, state: 'up', since }];
  }

  events(): readonly ProcessEvent[] {
    return [];
  }

  kill(): void {}
}

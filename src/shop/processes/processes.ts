import { randomBytes } from 'node:crypto';

/** A process of the shop, as its parent sees it. */
export interface ProcessState {
  name: string;
  /** `null` while it is dead. */
  pid: number | null;
  state: 'up' | 'dead' | 'starting';
  since: string;
}

/** What happened to a process. */
export interface ProcessEvent {
  at: string;
  name: string;
  what: 'started' | 'died';
}

/** The processes that are this shop, the present one among them. */
export abstract class Processes {
  /** The present one: its delays are fired under this name. */
  abstract readonly self: string;
  /** When the shop was started, on the database's clock: lateness and counts are since then. */
  abstract readonly shopStartedAt: Date;

  abstract list(): readonly ProcessState[];
  /** Newest first, a few. */
  abstract events(): readonly ProcessEvent[];
  /** As `kill -9` does. */
  abstract kill(name: string): void;
}

/** A shop of one process, which is not started again: it ends by Ctrl+C alone. */
export class OneProcess extends Processes {
  /** Several of them may share a database, each as process 1 of its container. */
  readonly self = `shop-${randomBytes(3).toString('hex')}`;

  /** @param shopStartedAt when left out, all counts that the history has kept */
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

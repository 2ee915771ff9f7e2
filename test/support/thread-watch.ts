import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach } from '@jest/globals';

const CHANNEL = 'worker_threads';

/** What `threadId` is of a thread that has ended. */
export const ENDED = -1;

/** The threads that a test has started, in whatever depth. */
export class ThreadWatch {
  readonly threads: Worker[] = [];

  constructor() {
    const note = (message: unknown): void => {
      this.threads.push((message as { worker: Worker }).worker);
    };
    beforeEach(() => subscribe(CHANNEL, note));
    afterEach(() => {
      unsubscribe(CHANNEL, note);
      this.threads.length = 0;
    });
  }

  /** The only one so far. */
  get thread(): Worker {
    const [thread, ...others] = this.threads;
    if (thread === undefined || others.length > 0) {
      throw new Error(`${this.threads.length} threads were started, not one`);
    }
    return thread;
  }
}

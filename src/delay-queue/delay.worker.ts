import { Injectable } from '@nestjs/common';
import { Engine } from './worker/engine.js';

/**
 * Starts and ends the worker of this node by hand: for a leader, or for tenants whose connections are opened later. With
 * `autorun: false` nothing runs before `run()`.
 *
 * ```ts
 * await this.worker.run();  // elected
 * await this.worker.stop(); // another one is
 * ```
 *
 * What `DelayAdmin` pauses is paused on all nodes; this is about one process.
 */
@Injectable()
export class DelayWorker {
  /** @internal */
  constructor(private readonly engine: Engine) {}

  /** Whether handlers run on this node. */
  get isRunning(): boolean {
    return this.engine.isRunning;
  }

  /**
   * Starts the worker; does nothing where it runs.
   *
   * While the application still starts, it resolves at once, and the worker starts when every provider has bootstrapped.
   *
   * @returns nothing; it runs by then
   * @throws DelayConfigError this node has `worker: false` or `'manual'`
   * @throws DelayShutdownError the application is closing
   */
  async run(): Promise<void> {
    await this.engine.run();
  }

  /**
   * Ends the worker as a shutdown does, and the node goes on scheduling.
   *
   * From this moment on nothing is claimed, handlers in flight are told to give up, and waited for up to `drainTimeout`. Whatever
   * fails meanwhile, or is not over by then, is given back without spending an attempt. `run()` starts the worker again.
   *
   * @returns nothing; all is written down by then
   */
  async stop(): Promise<void> {
    await this.engine.endRun();
  }
}

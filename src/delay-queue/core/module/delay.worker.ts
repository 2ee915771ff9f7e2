import { Injectable } from '@nestjs/common';
import { Engine } from '../engine/engine.js';

/**
 * Starts and stops the worker of this node by hand: after a leader election, or once the
 * connections of tenants are open. With `autorun: false`, no handler runs before `run()`.
 *
 * ```ts
 * await this.worker.run();  // elected
 * await this.worker.stop(); // another one is
 * ```
 *
 * It affects this process only; `DelayAdmin.pause` affects all nodes.
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
   * Starts the worker. Does nothing if it runs.
   *
   * While the application is still starting, it resolves at once, and the worker starts when every
   * provider has bootstrapped.
   * @returns nothing, once the worker runs
   * @throws DelayConfigError this node has `worker: false` or `'manual'`
   * @throws DelayShutdownError the application is closing
   */
  async run(): Promise<void> {
    await this.engine.run();
  }

  /**
   * Stops the worker as a shutdown does. The node can still schedule.
   *
   * It claims nothing more, aborts `ctx.signal` of handlers in flight, and waits for them up to
   * `drainTimeout`. Attempts that fail or do not end meanwhile are given back, and no attempt is
   * spent. `run()` starts the worker again.
   * @returns nothing, once all outcomes are written
   */
  async stop(): Promise<void> {
    await this.engine.endRun();
  }
}

import type { Wake } from '../store/rows.js';
import type { HintSender } from './hint-sender.js';
import type { Nodes } from './nodes.js';

/** Where a committed write goes: into this node's wheel, to its owner as a hint, or nowhere. */
export class Announcer {
  /**
   * @param horizonMs what is due later is found by a load in time
   * @param offer arms this node's wheel
   */
  constructor(
    private readonly nodes: Nodes,
    private readonly hints: HintSender,
    private readonly horizonMs: number,
    private readonly offer: (wake: Wake) => boolean,
  ) {}

  /** @param nowMs the database's clock at the write, as `wake.wakeMs` is */
  announce(wake: Wake, nowMs: number): void {
    if (wake.wakeMs - nowMs > this.horizonMs) return;
    if (this.nodes.owns(wake.id, wake.name)) this.offer(wake);
    else this.hints.send(wake);
  }
}

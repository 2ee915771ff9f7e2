import type { Wake } from '../store/rows/delay-rows.js';
import type { WorkerContext } from './context.js';
import type { Source } from './job.js';
import type { TimerQueue } from './timer-queue.js';

/** When a write was made. */
export interface WrittenAt {
  /** On the database's clock, as `wakeMs` is. */
  databaseMs: number;
  /** `performance.now()` when its answer arrived. */
  monotonicMs: number;
}

/** Sends a committed wake where it belongs: into this node's timer queue, to its owner as a hint, or nowhere. */
export class Announcer {
  /** @param worker of this node, if it runs handlers */
  constructor(
    private readonly node: Pick<WorkerContext, 'nodes' | 'notifier' | 'options'>,
    private readonly worker: (Pick<WorkerContext, 'idle'> & { queue: TimerQueue }) | undefined,
  ) {}

  /** @param written when the row was written: its transaction may have taken long to commit */
  announce(wake: Wake, written: WrittenAt, source: Source): void {
    const nowMs = written.databaseMs + performance.now() - written.monotonicMs;
    const { nodes, notifier, options } = this.node;
    // A load finds in time what is due later than these, also on a node that is idle.
    const { horizonMs, idleForMs } = options;
    const inMs = wake.wakeMs - nowMs;
    this.worker?.idle.disturb();
    const isOwn = nodes.owns(wake.id, wake.name, wake.group);
    if (isOwn && inMs <= horizonMs) this.worker?.queue.offer(wake, source);
    // With `idleFor` also its own: if this node dies, no idle node would look.
    const isForOthers = !isOwn || idleForMs !== null;
    if (isForOthers && inMs <= Math.max(horizonMs, idleForMs ?? 0)) notifier.send(wake);
  }
}

import type { Wake } from '../store/wire/wakes.js';
import type { Source } from './entry.js';
import type { Idle } from '../tasks/idle.js';
import type { Intake } from './intake.js';
import type { Notifier } from '../cluster/notifier.js';
import type { Nodes } from '../cluster/nodes.js';

/** When a write was made. */
export interface WrittenAt {
  /** On the database's clock, as `wakeMs` is. */
  databaseMs: number;
  /** `performance.now()` when its answer was there. */
  monotonicMs: number;
}

/** Where a committed write goes: into this node's wheel, to its owner as a hint, or nowhere. */
export class Announcer {
  /**
   * @param limits what is due later is found by a load in time, also by one of a node that is idle
   * @param worker of this node, if it runs handlers
   */
  constructor(
    private readonly nodes: Nodes,
    private readonly notifier: Notifier,
    private readonly limits: { horizonMs: number; idleForMs: number | null },
    private readonly worker: { intake: Intake; idle: Idle } | undefined,
  ) {}

  /** @param written when it was written; the transaction may have taken its time since */
  announce(wake: Wake, written: WrittenAt, source: Source): void {
    const nowMs = written.databaseMs + performance.now() - written.monotonicMs;
    const { horizonMs, idleForMs } = this.limits;
    const inMs = wake.wakeMs - nowMs;
    this.worker?.idle.disturb();
    const isOwn = this.nodes.owns(wake.id, wake.name, wake.group);
    if (isOwn && inMs <= horizonMs) this.worker?.intake.offer(wake, source);
    // With `idleFor` its own, too: this node may die, and no other would look while it is idle.
    const isForOthers = !isOwn || idleForMs !== null;
    if (isForOthers && inMs <= Math.max(horizonMs, idleForMs ?? 0)) this.notifier.send(wake);
  }
}

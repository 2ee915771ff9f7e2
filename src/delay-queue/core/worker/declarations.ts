import { explainError } from '../database/driver-errors.js';
import type { Declaration } from '../handlers/handler.registry.js';
import { computedHere, firstDueMs, type StoredRepeat } from '../recurrence/recurrence.js';
import { RecurrenceStore } from '../store/recurrence.store.js';
import { inLockOrder } from '../store/rows/delay-rows.js';
import { RecurringTask } from '../tasks/recurring-task.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';
import { Condition } from '../tasks/signal.js';
import type { WorkerContext } from './context.js';

/** Pauses before rows that run or are locked are tried again, doubled each time. */
const AGAIN: Growth = { firstMs: 50, factor: 2, lastMs: 5_000, jitter: 0.5 };

/**
 * At the start, writes the recurring delays that this node's code declares. Removes those that it
 * no longer declares, of its names and its deployment, and emits `withdrawn` for each. The most
 * recently started node wins: in a deploy, one of the new ones. A row that was held by a run is
 * tried again, until a newer node has declared that name.
 */
export class Declarations extends RecurringTask {
  #left: readonly Declaration[];
  readonly #said = new Condition();
  #isWithdrawn = false;
  #times = 0;

  readonly #store: RecurrenceStore;

  constructor(
    private readonly parts: Pick<
      WorkerContext,
      'connections' | 'options' | 'registry' | 'events' | 'zones' | 'idle'
    >,
  ) {
    super(() => this.#say(), new TaskHealth(parts.events, 'declare'), parts.idle);
    const { installation, historyKept, nodeName, deployment = '' } = parts.options;
    const { connections: runner, registry } = parts;
    this.#store = new RecurrenceStore(runner, installation, historyKept, nodeName, deployment);
    this.#left = registry.declarations();
  }

  /** Resolves after the first try, whatever its result. */
  override async start(): Promise<void> {
    const said = this.#said.next;
    super.start();
    await said;
  }

  /**
   * Declares everything again, for a test that has removed it: due as if the node had just started.
   */
  async sayAgain(): Promise<void> {
    await this.#store.declare(await this.#prepare(this.parts.registry.declarations()));
  }

  async #say(): Promise<number> {
    try {
      await this.#sayAll();
    } catch (error) {
      throw explainError(error, this.parts.options.schema);
    } finally {
      this.#said.notify();
    }
    this.#times += 1;
    // All is written. Not awaited: it would wait for this very run.
    if (this.#isWithdrawn && this.#left.length === 0) void this.stop();
    return pauseMs(AGAIN, this.#times);
  }

  /** Declares first, even if nothing recurs: that alone marks this node as the most recent one. */
  async #sayAll(): Promise<void> {
    if (this.#left.length > 0 || !this.#store.hasSaid) await this.#declare();
    if (this.#isWithdrawn) return;
    const { registry, events, zones: zoneRules } = this.parts;
    const { gone, left } = await this.#store.withdraw(registry.names(), registry.declarations());
    for (const [name, key, repeat] of gone) events.emit('withdrawn', { name, key, repeat });
    this.#isWithdrawn = left === 0;
    if (this.#times > 0) return;
    const repeats = registry.declarations().map(({ repeat: how }) => how);
    const zones = repeats.flatMap((how) => ('cron' in how ? [how.timeZone] : []));
    await zoneRules.follow(zones, registry.names());
  }

  async #declare(): Promise<void> {
    const { again, foreign } = await this.#store.declare(await this.#prepare(this.#left));
    this.#left = again.map(({ declaration }) => declaration);
    for (const { name, key } of foreign) {
      this.parts.events.emit('advice', {
        message:
          `${name} (${key}) recurs as another deployment declares it, not as this one does: ` +
          'use another key, or cancel that delay and restart this node',
      });
    }
  }

  /** By the database's clock: its estimate could miss an instant, or add one. */
  async #prepare(declarations: readonly Declaration[]) {
    const nowMs = declarations.length === 0 ? 0 : await this.#store.nowMs();
    const { deployment } = this.parts.options;
    const own = deployment === undefined ? {} : { deployment };
    const rows = declarations.map((declaration) => {
      const { name, key, payload } = declaration;
      const rule = declaration.repeat;
      const firstMs = firstDueMs(rule, nowMs);
      const computed = computedHere(rule, firstMs);
      const repeat: StoredRepeat = { ...rule, declared: true, ...own, ...computed };
      return { declaration, name, key, payload, repeat: JSON.stringify(repeat), firstMs };
    });
    return inLockOrder(rows).sorted;
  }
}

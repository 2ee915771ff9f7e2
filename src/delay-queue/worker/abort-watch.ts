import type { DelayEvents } from '../api/events.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { inParts, StatementSize } from '../store/statement-size.js';
import { Paced, RecurringTask } from '../tasks/recurring-task.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { HeldClaim, InFlight } from './claims.js';

const BATCH_MAX = 1_000;

/** Poll interval while attempts run: a hint may get lost, or LISTEN may not work here. */
const LOOK_EVERY_MS = 2_000;

/** Pause between two polls that hints ask for. */
const HINTED_PAUSE_MS = 50;

/**
 * Ends the attempts of this node that a cancel asked to end. The request is a row of the table
 * `abort`, which only the application may write. A hint is not a request: any login that may
 * connect can send one, so it only brings a poll forward.
 */
export class AbortWatch {
  readonly #task: RecurringTask;
  readonly #hinted: Paced;
  readonly #size = new StatementSize(BATCH_MAX);
  readonly #health: TaskHealth;

  constructor(
    private readonly store: Pick<AttemptStore, 'takeAborts'>,
    private readonly inFlight: InFlight,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'abort');
    this.#task = new RecurringTask(() => this.#look(), this.#health);
    this.#hinted = new Paced(() => this.#task.runNow(), HINTED_PAUSE_MS);
  }

  start(): void {
    this.#task.start(LOOK_EVERY_MS);
  }

  stop(): Promise<void> {
    this.#hinted.stop();
    return this.#task.stop();
  }

  /** A hint says that attempts of these delays are to end. */
  hinted(ids: readonly number[]): void {
    if (ids.some((id) => this.inFlight.runs(id))) this.#hinted.ask();
  }

  async #look(): Promise<number> {
    const running = this.inFlight.all().filter(({ over }) => !over);
    const take = async (some: readonly HeldClaim[]): Promise<void> =>
      this.inFlight.abort(await this.store.takeAborts(some));
    await inParts(running, this.#size, take, this.#health);
    return LOOK_EVERY_MS;
  }
}

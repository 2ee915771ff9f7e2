import { StatementSize, inParts } from '../store/statement-size.js';
import { RecurringTask } from '../tasks/recurring-task.js';
import { Paced } from '../tasks/trigger.js';
import { TaskHealth } from '../tasks/task-health.js';
import type { Attempt } from './attempt.js';
import type { WorkerContext } from './context.js';
import type { Jobs } from './jobs.js';

const ABORTS_MAX = 1_000;

/** Poll interval while attempts run: a hint may get lost, or LISTEN may not work here. */
const LOOK_EVERY_MS = 2_000;

/** Pause between two polls that hints ask for. */
const HINTED_PAUSE_MS = 50;

/**
 * Ends the attempts of this node that a cancel asked to end. The request is a row of the table
 * `abort`, which only the application may write. A hint is not a request: any login that may
 * connect can send one, so it only brings a poll forward.
 */
export class AbortWatch extends RecurringTask {
  readonly #hinted = new Paced(() => this.runNow(), HINTED_PAUSE_MS);
  readonly #size = new StatementSize(ABORTS_MAX);

  constructor(private readonly parts: Pick<WorkerContext, 'store' | 'jobs' | 'events'>) {
    super(() => this.#look(), new TaskHealth(parts.events, 'abort'));
  }

  override start(): void {
    super.start(LOOK_EVERY_MS);
  }

  override stop(): Promise<void> {
    this.#hinted.stop();
    return super.stop();
  }

  /** A hint says that attempts of these delays are to end. */
  hinted(ids: readonly number[]): void {
    if (ids.some((id) => this.parts.jobs.runs(id))) this.#hinted.ask();
  }

  async #look(): Promise<number> {
    const { store, jobs } = this.parts;
    const running = jobs.running().filter(({ over }) => !over);
    const take = async (some: readonly Attempt[]): Promise<void> =>
      jobs.abort(await store.takeAborts(some));
    await inParts(running, this.#size, take, this.health);
    return LOOK_EVERY_MS;
  }
}

/** Asks attempts to end, on whichever node they run. */
export class AbortRequests {
  readonly #health: TaskHealth;

  /** @param jobs of this node, if it runs handlers */
  constructor(
    private readonly parts: Pick<WorkerContext, 'store' | 'notifier' | 'events'>,
    private readonly jobs: Jobs | undefined,
  ) {
    this.#health = new TaskHealth(parts.events, 'abort');
  }

  /**
   * Sends the requests to the present holders of these delays. Never in a caller's transaction, whose COMMIT would
   * be needed for them to be seen. The caller checks the result and asks again.
   */
  async send(ids: readonly number[]): Promise<void> {
    const { store, notifier } = this.parts;
    try {
      const claims = await store.askAborts(ids);
      this.jobs?.abort(claims);
      await notifier.abort(claims.filter(({ isOwn }) => !isOwn).map(({ id }) => id));
      this.#health.worked();
    } catch (error) {
      this.#health.failed(error);
    }
  }
}

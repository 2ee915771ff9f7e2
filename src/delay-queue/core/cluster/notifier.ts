import type { DelayEvents } from '../api/events.js';
import type { Runner } from '../database/runner.js';
import { groupText, texts, type Wake } from '../store/rows/delay-rows.js';
import { TaskHealth } from '../tasks/task-health.js';
import { nodesHint, encodeAborts, encodeWakes, encodeVacant, HINTS } from './hint.js';

/** Most queued wakes. The other nodes' loaders find the rest. */
const QUEUE_MAX = 10_000;

/**
 * Sends hints about delays that are due soon, off the write path: after the commit, coalesced, on
 * one of the engine's own connections. A NOTIFY inside the caller's transaction would take a lock
 * on the whole server at its commit (16 clients: 6,721 against 2,649 transactions/s).
 */
export class Notifier {
  readonly #health: TaskHealth;
  #wakes: Wake[] = [];
  #passed: Wake[] = [];
  /** By text, so that each is sent once. */
  #vacant = new Map<string, Pick<Wake, 'name' | 'group'>>();
  #sending: Promise<void> | undefined;

  constructor(
    private readonly runner: Runner,
    private readonly channel: string,
    events: DelayEvents,
  ) {
    this.#health = new TaskHealth(events, 'hint');
  }

  send(wake: Wake): void {
    if (this.#wakes.length < QUEUE_MAX) this.#wakes.push(wake);
    this.#sending ??= this.#sendAll();
  }

  /** This node could not read the delay; others may. */
  sendPassed(wake: Wake): void {
    if (this.#passed.length < QUEUE_MAX) this.#passed.push(wake);
    this.#sending ??= this.#sendAll();
  }

  /** An attempt of a name with limits has ended: other nodes may wait for its slot. */
  sendVacant(name: string, group: string | null): void {
    if (this.#vacant.size < QUEUE_MAX) this.#vacant.set(groupText(name, group), { name, group });
    this.#sending ??= this.#sendAll();
  }

  /** Notifies other nodes that this one joined, or, without a name, that one left. */
  async nodesChanged(came?: string): Promise<void> {
    await this.#notify([nodesHint(came)]);
  }

  /** Lets the nodes that run these delays check whether their attempts are to end. */
  async abort(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.#notify(encodeAborts(ids));
  }

  async drain(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    // All that commits in this turn of the event loop is sent together.
    await new Promise(setImmediate);
    while (this.#wakes.length > 0 || this.#passed.length > 0 || this.#vacant.size > 0) {
      const hints = [
        ...encodeWakes(this.#wakes),
        ...encodeWakes(this.#passed, 'u'),
        ...encodeVacant([...this.#vacant.values()]),
      ];
      this.#wakes = [];
      this.#passed = [];
      this.#vacant = new Map();
      await this.#notify(hints);
    }
    // In the same turn as the check above: a wake that comes now starts a new round.
    this.#sending = undefined;
  }

  async #notify(hints: readonly string[]): Promise<void> {
    try {
      await sendHints(this.runner, this.channel, hints);
      this.#health.worked();
    } catch (error) {
      this.#health.failed(error);
    }
  }
}

const sendHints = (runner: Runner, channel: string, hints: readonly string[]): Promise<unknown> =>
  runner.query(HINTS.hint, [channel, texts(hints)]);

/** Sends hints in a caller's transaction: the server delivers them when that commits. */
export async function hintWakes(
  runner: Runner,
  channel: string,
  wakes: readonly Wake[],
): Promise<void> {
  await sendHints(runner, channel, encodeWakes(wakes));
}

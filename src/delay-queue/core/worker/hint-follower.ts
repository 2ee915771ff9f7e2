import type { Nodes } from '../cluster/nodes.js';
import type { Notifier } from '../cluster/notifier.js';
import type { Hint, HintedWake, Vacancy } from '../cluster/hint.js';
import { Paced } from '../tasks/trigger.js';
import type { AbortWatch } from './abort-watch.js';
import type { Attempt } from './attempt.js';
import type { WorkerContext } from './context.js';
import { HintedRows } from './hinted-rows.js';
import type { Throttles } from './limits.js';
import type { Loader } from './loader.js';
import type { TimerQueue } from './timer-queue.js';

/** How far the clocks of two nodes, each its own estimate of the database's, may be apart. */
const HINT_SLACK_MS = 1_000;

/** Between two loads that hints ask for. */
const LOAD_PAUSE_MS = 250;

/** Between two rounds of hinted vacancies. An attempt that ends on this node is reported at once. */
const VACANCY_PAUSE_MS = 10;

/** Names and groups of one round of vacancies. What exceeds it waits for the next look at its limit. */
const VACANCIES_MAX = 10_000;

export interface HintParts extends Pick<
  WorkerContext,
  'store' | 'nodes' | 'clock' | 'idle' | 'options' | 'events'
> {
  queue: TimerQueue;
  loader: Loader;
  aborts: AbortWatch;
  throttles: Throttles;
}

/**
 * Follows the hints of other nodes. Any login that may connect can send a hint, so a hint changes nothing: it
 * makes this node read rows earlier, and its cost does not grow with the number of hints.
 */
export class HintFollower {
  readonly #rows: HintedRows;
  readonly #loads: Paced;
  readonly #vacancies: Paced;
  #vacant = new Map<string, Vacancy>();

  constructor(private readonly parts: HintParts) {
    this.#rows = new HintedRows(parts);
    this.#loads = new Paced(() => parts.loader.nodesChanged(), LOAD_PAUSE_MS);
    this.#vacancies = new Paced(() => this.#reportVacancies(), VACANCY_PAUSE_MS);
  }

  follow(hint: Hint): void {
    switch (hint.kind) {
      case 'wakes':
        if (!this.#offerNear(hint.wakes, false)) this.#loads.ask();
        return;
      case 'passed':
        if (!this.#offerNear(hint.wakes, true)) this.#loads.ask();
        return;
      case 'abort':
        return this.parts.aborts.hinted(hint.ids);
      case 'nodes':
        // A node receives its own hint, too, and has just read which nodes are there.
        if (hint.came !== this.parts.options.nodeName) this.#loads.ask();
        return;
      case 'vacant':
        return this.#addVacancies(hint.of);
      case 'probe':
    }
  }

  async stop(): Promise<void> {
    for (const each of [this.#loads, this.#vacancies]) each.stop();
    await this.#rows.stop();
  }

  /**
   * Offers what is near; a load is in time for what is due later.
   * @param isAnyones another node could not read these: any node may take them, not only their owner
   * @returns false when there was no room for all: a load finds the rest
   */
  #offerNear(wakes: readonly HintedWake[], isAnyones: boolean): boolean {
    const { queue, nodes, clock, idle, options } = this.parts;
    if (!queue.isOpen) return true;
    // Also for another node's share, as that node may be idle or gone, and for what is due before the next load.
    if (wakes.some(({ name }) => nodes.mayRun(name, null))) idle.disturb();
    const nearMs = clock.nowMs() + options.horizonMs + HINT_SLACK_MS;
    let hasRoom = true;
    for (const { groupNumber: number, ...wake } of wakes) {
      const { id, name, wakeMs } = wake;
      if (wakeMs > nearMs || !nodes.mayRun(name, null)) continue;
      if (!isAnyones && !nodes.ownsHinted(id, name, number)) continue;
      const isTaken =
        number === null
          ? queue.offer({ ...wake, group: null }, 'hinted')
          : this.#rows.ask(id, isAnyones);
      if (!isTaken) hasRoom = false;
    }
    return hasRoom;
  }

  #addVacancies(of: readonly Vacancy[]): void {
    for (const vacancy of of) {
      const { name, groupNumber } = vacancy;
      if (!this.parts.nodes.isShared(name) || this.#vacant.size >= VACANCIES_MAX) continue;
      this.#vacant.set(`${groupNumber} ${name}`, vacancy);
    }
    if (this.#vacant.size > 0) this.#vacancies.ask();
  }

  #reportVacancies(): void {
    const round = this.#vacant.values();
    this.#vacant = new Map();
    for (const { name, groupNumber } of round) {
      this.parts.throttles.freedElsewhere(name, groupNumber);
    }
  }
}

/** An attempt under limits has ended here: claims that wait for its capacity may look, here and on other nodes. */
export function reportVacancy(
  { name, extras }: Pick<Attempt, 'name' | 'extras'>,
  throttles: Pick<Throttles, 'freed'>,
  nodes: Pick<Nodes, 'isShared'>,
  notifier: Pick<Notifier, 'sendVacant'>,
): void {
  throttles.freed(name, extras.group);
  if (nodes.isShared(name)) notifier.sendVacant(name, extras.group);
}

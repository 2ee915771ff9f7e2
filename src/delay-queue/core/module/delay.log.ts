import { Inject, Injectable } from '@nestjs/common';
import { describeError } from '../api/error-text.js';
import { LogLines } from '../api/log-lines.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { EVENTS, logContext } from '../config/queue-names.js';
import type { DelayEventMap, DelayEvents } from '../api/events.js';

const FAILURE_EVERY_MS = 60_000;
/** A task that has worked for this long has recovered. A hanging statement would show after 15 s. */
const WORKS_AGAIN_AFTER_MS = 20_000;
const NAMES_LISTED = 50;
/** Corrections below this are part of keeping a clock right. */
const JUMP_MS = 1_000;

/**
 * All log lines of the library, with the context `DelayQueue`, or `DelayQueue eu`
 * for a queue with that name, except those of `delay.log.ts`.
 * Payloads are never logged. A healthy node logs two lines: at its start and at its end.
 */
@Injectable()
export class DelayLog {
  readonly #logger: LogLines;
  /** When each failure was last logged: even an intermittent outage is one line a minute. */
  readonly #failedAtMs = new Map<string, number>();
  /** Failures that were logged and not yet reported as recovered. */
  readonly #open = new Set<string>();
  /** Failures that seem to have recovered. */
  readonly #recovering = new Map<string, NodeJS.Timeout>();

  constructor(
    @Inject(EVENTS) events: DelayEvents,
    @Inject(RESOLVED_OPTIONS) { queue }: Pick<ResolvedOptions, 'queue'>,
  ) {
    this.#logger = new LogLines(logContext(queue));
    events.on('ready', (ready) => this.#ready(ready));
    events.on('stopped', ({ node, unfinished }) => {
      const rest = unfinished > 0 ? `; ${unfinished} unfinished delays were given back` : '';
      this.#logger.log(`node ${node} stopped${rest}`);
      for (const timer of this.#recovering.values()) clearTimeout(timer);
      this.#recovering.clear();
    });
    events.on('withdrawn', ({ name, key, repeat }) =>
      this.#logger.warn(
        `${name} (${key}) recurred by ${ruleText(repeat)} and was removed: the code of this node does not declare it. ` +
          'It returns when a node starts whose code declares it; ' +
          'the option deployment keeps deployments with different code apart',
      ),
    );
    events.on('advice', ({ message }) => this.#logger.warn(message));
    events.on('clockJumped', ({ byMs }) => {
      if (Math.abs(byMs) < JUMP_MS) return;
      const how = `${byMs > 0 ? 'forward' : 'back'} by ${(Math.abs(byMs) / 1_000).toFixed(1)} s`;
      this.#logger.warn(`the clock of the database jumped ${how}: timers follow it`);
    });
    events.on('retrying', ({ waitMs, error, cause, ...of }) =>
      this.#logger.warn(
        `${delayText(of)} failed, again in ${Math.round(waitMs)} ms: ${error}`,
        cause,
      ),
    );
    events.on('unreadable', (of) => {
      if (this.#isQuiet(`unreadable ${of.name}`)) return;
      this.#logger.warn(
        `${delayText(of)} cannot be read here and is passed on to another node: ${of.error}; ` +
          'more of this name are not logged for a minute',
      );
    });
    events.on('dead', (of) =>
      this.#logger.error(
        `${delayText(of)} is a dead letter after ${of.attempt} attempts: ${of.error}`,
        of.cause,
      ),
    );
    events.on('skipped', ({ count, from, to, ...of }) =>
      this.#logger.warn(
        `${delayText(of)} left out ${count} ${count === 1 ? 'instant' : 'instants'}, from ${from.toISOString()} to ${to.toISOString()}: see catchUp`,
      ),
    );
    events.on('lost', (of) =>
      this.#logger.warn(`${delayText(of)} lost its lease; the result of its attempt was ignored`),
    );
    events.on('overrunning', ({ overrunning, ...of }) =>
      this.#logger.warn(
        `${delayText(of)} is over but its handler still runs (${overrunning} of this name)`,
      ),
    );
    events.on('taskFailed', ({ task, error }) => this.#fails(task, error));
    events.on('taskRecovered', ({ task }) => this.#works(task));
  }

  #fails(task: string, error: unknown): void {
    clearTimeout(this.#recovering.get(task));
    this.#recovering.delete(task);
    if (this.#isQuiet(task)) return;
    this.#open.add(task);
    this.#logger.error(`${task} failed and is tried again: ${describeError(error)}`);
  }

  /** Logs the recovery of a logged failure after some time without another one. */
  #works(task: string): void {
    if (!this.#open.has(task)) return;
    clearTimeout(this.#recovering.get(task));
    const timer = setTimeout(() => {
      this.#recovering.delete(task);
      this.#open.delete(task);
      this.#logger.log(`${task} works again`);
    }, WORKS_AGAIN_AFTER_MS).unref();
    this.#recovering.set(task, timer);
  }

  #isQuiet(about: string): boolean {
    const nowMs = performance.now();
    if (nowMs - (this.#failedAtMs.get(about) ?? -Infinity) < FAILURE_EVERY_MS) return true;
    this.#failedAtMs.set(about, nowMs);
    return false;
  }

  #ready({ node, names, worker, listens }: DelayEventMap['ready'][0]): void {
    if (!worker) {
      const until = names.length === 0 ? '' : ' until DelayWorker.run()';
      this.#logger.log(`node ${node} schedules and runs no handlers${until}`);
    } else {
      const how = listens ? '' : ', without LISTEN';
      this.#logger.log(`node ${node} serves ${listed(names)}${how}`);
    }
  }
}

/** A node may serve thousands of names; the line stays readable. */
function listed(names: readonly string[]): string {
  const more = names.length - NAMES_LISTED;
  return names.slice(0, NAMES_LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const delayText = (of: { id: string; name: string; key: string | null }): string =>
  `${of.name} #${of.id}${of.key === null ? '' : ` (${of.key})`}`;

/** The row's `repeat`, in the words of the decorator. */
const ruleText = ({ every, cron, timeZone }: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(every === undefined ? { cron, timeZone } : { every });

import { Injectable, Logger } from '@nestjs/common';
import { quietly } from './api/adopted.js';
import { describeError, LogLines } from './api/error-text.js';
import { type AttemptEvent, type DelayEventMap, DelayEvents } from './api/events.js';
import type { CommittedWrite, WritesTrace } from './client/writes.js';
import { shown } from './config/known-options.js';

const VARIABLE = 'DELAY_QUEUE_DEBUG';

/** A name, or a name with a key. A key may hold anything except a comma. */
const ENTRY = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}(?::.+)?$/s;

interface Traced {
  id: string | number;
  name: string;
  key: string | null;
}

/**
 * Traces chosen delays, one line per step, at Nest's level `debug`. The environment variable
 * `DELAY_QUEUE_DEBUG` chooses them at start: `order.close,order.remind:42`, or `*`.
 *
 * No line holds a payload or an error text, which may quote one.
 */
@Injectable()
export class DelayTrace implements WritesTrace {
  readonly #logger = new LogLines('DelayQueue');
  readonly #entries: ReadonlySet<string>;

  constructor(events: DelayEvents) {
    this.#entries = this.#entriesOf(process.env[VARIABLE]);
    if (!this.isOn) return;
    if (!Logger.isLevelEnabled('debug')) {
      quietly(() =>
        this.#logger.warn(
          `${VARIABLE} is set, but Nest's logger leaves out the level debug: add it`,
        ),
      );
    }
    this.#listen(events);
  }

  /** Whether any delay is traced. Fixed at start: without a trace, nothing is spent on it. */
  get isOn(): boolean {
    return this.#entries.size > 0;
  }

  follows(name: string, key: string | null): boolean {
    const entries = this.#entries;
    return entries.has('*') || entries.has(name) || (key !== null && entries.has(`${name}:${key}`));
  }

  committed({ verdict, wakeMs, certain, ...of }: CommittedWrite): void {
    this.#say(of, () => {
      const wake = wakeMs === null ? '' : `, wakes at ${new Date(wakeMs).toISOString()}`;
      return `${verdict}${wake}${certain ? '' : ' (unless a savepoint rolled it back)'}`;
    });
  }

  #listen(events: DelayEvents): void {
    events.on('started', (of) =>
      this.#say(of, () => `handler called, ${countOf(of)}, ${of.latenessMs.toFixed(1)} ms late`),
    );
    events.on('completed', (of) => this.#say(of, () => `completed, ${countOf(of)}`));
    events.on('retrying', (of) =>
      this.#say(of, () => `failed, ${countOf(of)}, again in ${Math.round(of.waitMs)} ms`),
    );
    events.on('unreadable', (of) =>
      this.#say(of, () => 'cannot be read here, passed on to another node, no attempt spent'),
    );
    events.on('split', (of) => this.#say(of, () => 'its batch failed, runs again alone'));
    events.on('dead', (of) => this.#say(of, () => `dead letter after attempt ${of.attempt}`));
    events.on('postponed', (of) =>
      this.#say(of, () => `postponed, again in ${Math.round(of.waitMs)} ms, no attempt spent`),
    );
    events.on('released', (of) => this.#say(of, () => 'given back, no attempt spent'));
    events.on('aborted', (of) => this.#say(of, () => 'aborted by a cancel, no attempt spent'));
    events.on('superseded', (of) =>
      this.#say(of, () => 'moved on, its handler scheduled it again'),
    );
    events.on('lost', (of) => this.#say(of, () => `lease lost, ${countOf(of)} is ignored`));
    events.on('overrunning', (of) => this.#say(of, () => `timed out, ${countOf(of)} still runs`));
  }

  /** A logger that throws affects no caller: some of this runs inside the caller's commit. */
  #say(of: Traced, step: () => string): void {
    if (!this.follows(of.name, of.key)) return;
    const key = of.key === null ? '' : ` (${of.key})`;
    quietly(() => this.#logger.debug(`${of.name} #${of.id}${key}: ${step()}`));
  }

  /** Entries that cannot be names are skipped with a warning: a trace must not stop the start. */
  #entriesOf(value: string | undefined): ReadonlySet<string> {
    const entries = value?.trim() ? value.split(',').map((entry) => entry.trim()) : [];
    const [good, bad] = [new Set<string>(), entries.filter((entry) => !isEntry(entry))];
    for (const entry of entries) if (isEntry(entry)) good.add(entry);
    if (bad.length > 0) {
      const entriesText = bad.map((entry) => shown(entry)).join(', ');
      quietly(() =>
        this.#logger.warn(
          `${VARIABLE} holds ${entriesText}, which no delay can have: write names, 'name:key' or '*', ` +
            'with commas between them',
        ),
      );
    }
    return good;
  }
}

const isEntry = (entry: string): boolean => entry === '*' || ENTRY.test(entry);

const countOf = ({ attempt, maxAttempts }: AttemptEvent): string =>
  `attempt ${attempt} of ${maxAttempts}`;

const FAILURE_EVERY_MS = 60_000;
/** A task that works for this long has recovered. A hanging statement would show after 15 s. */
const WORKS_AGAIN_AFTER_MS = 20_000;
const NAMES_LISTED = 50;
/** Corrections below this are part of keeping a clock right. */
const JUMP_MS = 1_000;

/**
 * All log lines of the library, with the context `DelayQueue`, except those of `delay.log.ts`.
 * Payloads are never logged. A healthy node logs two lines: at its start and at its end.
 */
@Injectable()
export class DelayLog {
  readonly #logger = new LogLines('DelayQueue');
  /** When each failure was last logged: even an intermittent outage is one line a minute. */
  readonly #failedAtMs = new Map<string, number>();
  /** Failures that were logged and not yet reported as recovered. */
  readonly #open = new Set<string>();
  /** Failures that seem to have recovered. */
  readonly #recovering = new Map<string, NodeJS.Timeout>();

  constructor(events: DelayEvents) {
    events.on('ready', (ready) => this.#ready(ready));
    events.on('stopped', ({ node, unfinished }) => {
      const rest = unfinished > 0 ? `; ${unfinished} unfinished delays were given back` : '';
      this.#logger.log(`node ${node} stopped${rest}`);
      for (const timer of this.#recovering.values()) clearTimeout(timer);
      this.#recovering.clear();
    });
    events.on('withdrawn', ({ name, key, repeat }) =>
      this.#logger.warn(
        `${name} (${key}) recurred by ${howOf(repeat)} and was removed: the code of this node does not declare it. ` +
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
const howOf = ({ every, cron, timeZone }: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(every === undefined ? { cron, timeZone } : { every });

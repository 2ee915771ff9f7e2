import { Inject, Injectable, Logger } from '@nestjs/common';
import { quietly } from '../api/adopted.js';
import { LogLines } from '../api/log-lines.js';
import type { AttemptEvent, DelayEvents } from '../api/events.js';
import { shown } from '../config/shown.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/options.js';
import { EVENTS, logContext } from '../config/queue-names.js';

const VARIABLE = 'DELAY_QUEUE_DEBUG';

/** A name, or a name with a key. A key may hold anything except a comma. */
const ENTRY = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}(?::.+)?$/s;

interface Traced {
  id: string;
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
export class DelayTrace {
  readonly #logger: LogLines;
  readonly #entries: ReadonlySet<string>;

  constructor(
    @Inject(EVENTS) events: DelayEvents,
    @Inject(RESOLVED_OPTIONS) { queue }: Pick<ResolvedOptions, 'queue'>,
  ) {
    this.#logger = new LogLines(logContext(queue));
    this.#entries = this.#entriesOf(process.env[VARIABLE]);
    if (this.#entries.size === 0) return;
    if (!Logger.isLevelEnabled('debug')) {
      quietly(() =>
        this.#logger.warn(
          `${VARIABLE} is set, but Nest's logger leaves out the level debug: add it`,
        ),
      );
    }
    this.#listen(events);
  }

  #listen(events: DelayEvents): void {
    events.on('written', ({ verdict, wakeAt, certain, ...of }) =>
      this.#say(of, () => {
        const wake = wakeAt === null ? '' : `, wakes at ${wakeAt.toISOString()}`;
        return `${verdict}${wake}${certain ? '' : ' (unless a savepoint rolled it back)'}`;
      }),
    );
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

  #follows({ name, key }: Traced): boolean {
    const entries = this.#entries;
    return entries.has('*') || entries.has(name) || (key !== null && entries.has(`${name}:${key}`));
  }

  /** A logger that throws affects no caller: some of this runs inside the caller's commit. */
  #say(of: Traced, step: () => string): void {
    if (!this.#follows(of)) return;
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

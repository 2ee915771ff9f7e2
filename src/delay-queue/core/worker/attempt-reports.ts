import {
  type AttemptEnd,
  type DelayAttemptMessage,
  delayChannels,
  publishEnd,
} from '../api/channels.js';
import { type DelayEvents, withCause } from '../api/events.js';
import type { DelayTelemetry } from '../api/telemetry.js';
import type { Skipped } from '../recurrence/recurrence.js';
import { type Attempt, deadEvent, endFields } from './attempt.js';
import type { Call } from './call.js';

/** What an event about the end of an attempt has beside the fields of all. */
export interface Ended {
  error?: string;
  /** What the handler threw. */
  cause?: unknown;
  waitMs?: number;
}

const NO_MORE: Ended = {};

/** Where attempts begin: the event `started` and the channel `attempt`. */
export class AttemptStarts {
  constructor(
    private readonly events: DelayEvents,
    private readonly node: string,
    private readonly telemetry?: DelayTelemetry,
  ) {}

  /** Calls the handler of a call, through `invoke`. */
  begin<Result>(call: Call, invoke: (call: Call) => Result): Result {
    if (call.onDead === null && this.events.isHeard('started')) {
      for (const { event } of call.attempts) this.events.emit('started', event);
    }
    const isTraced = delayChannels.attempt.hasSubscribers || this.telemetry !== undefined;
    return isTraced ? this.#traced(call, invoke) : invoke(call);
  }

  #traced<Result>(call: Call, invoke: (call: Call) => Result): Result {
    const { start, end } = delayChannels.attempt;
    const messages = call.attempts.map(
      (attempt) => (attempt.message = this.#messageOf(call, attempt)),
    );
    const [first, ...others] = messages as [DelayAttemptMessage, ...DelayAttemptMessage[]];
    for (const message of others) start.publish(message);
    const { telemetry } = this;
    const run = (): Result => invoke(call);
    const result = start.runStores(
      first,
      telemetry === undefined ? run : () => telemetry.runAttempts(messages, run),
    );
    for (const message of messages) end.publish(message);
    return result;
  }

  #messageOf(call: Call, attempt: Attempt): DelayAttemptMessage {
    const { row, extras, latenessMs, occurrence } = attempt;
    // Written out with all its fields: a copy, or fields that come later, would change its shape.
    return {
      node: this.node,
      id: String(row.id),
      name: row.name,
      key: row.key,
      group: extras.group,
      headers: extras.headers,
      attempt: row.attempts,
      maxAttempts: row.max_attempts,
      latenessMs,
      batch: call.attempts.length,
      onDead: call.onDead !== null,
      recurring: occurrence !== null,
      outcome: undefined,
      durationMs: undefined,
      error: undefined,
    };
  }
}

/** Where attempts end, once that is written: the event of that name, and the channel `attempt`. */
export class AttemptEnds {
  constructor(private readonly events: DelayEvents) {}

  end(outcome: AttemptEnd, attempt: Attempt, more: Ended = NO_MORE): void {
    if (outcome !== 'exhausted' && this.events.isHeard(outcome)) {
      this.events.emit(outcome, endEvent(outcome, attempt, more) as never);
    }
    if (attempt.message !== undefined) publish(attempt.message, outcome, attempt, more);
  }
}

/** A recurring delay has moved on, and leaves out instants. */
export function tellSkipped(
  events: DelayEvents,
  node: string,
  { id, name, key, group }: { id: number; name: string; key: string | null; group: string | null },
  skipped: Skipped | undefined,
): void {
  if (skipped === undefined) return;
  const { count, fromMs, toMs } = skipped;
  const [from, to] = [new Date(fromMs), new Date(toMs)];
  const event = { id: String(id), name, key, group, count, from, to };
  events.emit('skipped', event);
  if (delayChannels.skipped.hasSubscribers) publishEnd(delayChannels.skipped, { node, ...event });
}

function endEvent(
  outcome: Exclude<AttemptEnd, 'exhausted'>,
  attempt: Attempt,
  { error, cause, waitMs }: Ended,
): object {
  if (outcome === 'lost' || outcome === 'released' || outcome === 'aborted') return attempt.event;
  if (outcome === 'dead') return deadEvent(attempt, error ?? '', cause);
  const event = { ...endFields(attempt), ...(waitMs !== undefined && { waitMs }) };
  return error === undefined ? event : withCause({ ...event, error }, cause);
}

/** Once: what is reported again later belongs to another attempt. */
function publish(
  message: DelayAttemptMessage,
  outcome: AttemptEnd,
  attempt: Attempt,
  { error, cause }: Ended,
): void {
  attempt.message = undefined;
  message.outcome = outcome;
  message.durationMs = attempt.durationMs;
  // A row tells only the text of an error that another process has seen.
  if (error !== undefined) message.error = cause ?? new Error(error);
  publishEnd(delayChannels.attempt, message);
}

import type { EntityManager } from 'typeorm';
import type { DelayBatchContext, DelayContext } from '../api/contexts.js';
import type { Delay } from '../api/delay.js';
import { DelayInvalidError, PostponeDelay } from '../api/errors.js';
import type { Duration } from '../api/times.js';
import { readable, shown } from '../config/blame.js';
import { parseDurationMs } from '../config/durations.js';
import { decoded } from '../config/payload-codec.js';
import { type Attempt, type Call, extrasOf, outcomeOf } from './call.js';

/** Arguments of a handler: its delay or delays, and its context. */
export interface HandlerArguments {
  work: Delay | Delay[];
  ctx: DelayContext;
}

/** @throws DelayCodecError for an encoded payload, since there is no codec */
export function argumentsOf(call: Call): HandlerArguments {
  if (call.handler.batch !== null) return batchArgumentsOf(call, call.attempts.map(plainDelayOf));
  const [first] = call.attempts as [Attempt];
  return { work: plainDelayOf(first), ctx: new Context(call) };
}

/** @param payloads for the attempts that reach the handler, at least one */
export function argumentsWith(
  call: Call,
  payloads: ReadonlyMap<Attempt, unknown>,
): HandlerArguments {
  const delays = [...payloads].map(([attempt, payload]) => delayOf(attempt, payload));
  if (call.handler.batch !== null) return batchArgumentsOf(call, delays);
  return { work: delays[0] as Delay, ctx: new Context(call) };
}

const batchArgumentsOf = (call: Call, delays: Delay[]): HandlerArguments => ({
  work: delays,
  ctx: batchContextOf(call),
});

const plainDelayOf = (attempt: Attempt): Delay =>
  delayOf(attempt, decoded(undefined, attempt.row.payload, attempt));

function delayOf({ row, latenessMs }: Attempt, payload: unknown): Delay {
  const { group, headers } = extrasOf(row.extras);
  return {
    id: String(row.id),
    name: row.name,
    key: row.key,
    group,
    headers,
    payload,
    dueAt: new Date(row.due_ms),
    createdAt: new Date(row.created_ms),
    attempt: row.attempts,
    maxAttempts: row.max_attempts,
    latenessMs,
  } as Delay;
}

/** A class: a getter in an object literal would be created for each call. */
class Context implements DelayContext {
  readonly #call: Call;
  readonly manager: EntityManager | undefined;

  constructor(call: Call) {
    this.#call = call;
    this.manager = call.manager;
  }

  /** An AbortController is created only for handlers that read it. */
  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

function batchContextOf(call: Call): DelayBatchContext & { manager: EntityManager | undefined } {
  const fail = (delay: Delay, error: unknown): void => {
    if (call.over) {
      throw new DelayInvalidError('delay', 'the batch is over: its outcome is decided');
    }
    if (!call.say(idOf(delay), outcomeOf(error, call.stopping))) {
      throw new DelayInvalidError('delay', `must be one of the batch, not ${shown(delay)}`);
    }
  };
  return {
    get signal(): AbortSignal {
      return call.signal;
    },
    manager: call.manager,
    fail,
    postpone(delay: Delay, after: Duration): void {
      parseDurationMs(after, 'after');
      fail(delay, new PostponeDelay(after));
    },
  };
}

const idOf = (delay: unknown): unknown =>
  readable('delay', () =>
    typeof delay === 'object' && delay !== null && 'id' in delay ? delay.id : undefined,
  );

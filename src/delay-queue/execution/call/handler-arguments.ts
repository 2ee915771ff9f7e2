import type { EntityManager } from 'typeorm';
import { DelayInvalidError } from '../../delay/delay.errors.js';
import { PostponeDelay } from '../../delay/thrown-by-handlers.js';
import type { Delay } from '../../delay/delay.js';
import type { DelayBatchContext, DelayContext } from '../../delay/contexts.js';
import type { Duration } from '../../delay/duration.js';
import { readable } from '../../validation/blame.js';
import { parseDurationMs } from '../../validation/duration.js';
import { shown } from '../../validation/shown.js';
import type { Attempt } from './attempt.js';
import type { Call } from './call.js';
import { outcomeOf } from './outcome-of.js';

/** What a handler is called with: its delay, or its delays, and what it may say and use. */
export function argumentsOf(call: Call): { work: Delay | Delay[]; ctx: DelayContext } {
  const [first] = call.attempts as [Attempt];
  if (call.handler.batch === null) return { work: delayOf(first), ctx: new Context(call) };
  return { work: call.attempts.map(delayOf), ctx: batchContextOf(call) };
}

function delayOf({ row, latenessMs }: Attempt): Delay {
  return {
    id: String(row.id),
    name: row.name,
    key: row.key,
    payload: JSON.parse(row.payload) as unknown,
    dueAt: new Date(row.due_ms),
    createdAt: new Date(row.created_ms),
    attempt: row.attempts,
    maxAttempts: row.max_attempts,
    latenessMs,
  } as Delay;
}

/** A class, because a getter in an object literal is made anew for each. */
class Context implements DelayContext {
  readonly #call: Call;
  readonly manager: EntityManager | undefined;

  constructor(call: Call) {
    this.#call = call;
    this.manager = call.manager;
  }

  /** An AbortController is made only for handlers that look at it. */
  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

function batchContextOf(call: Call): DelayBatchContext & { manager: EntityManager | undefined } {
  const fail = (delay: Delay, error: unknown): void => {
    if (call.over) {
      throw new DelayInvalidError('delay', 'the batch is over: nothing can be said of it any more');
    }
    if (!call.say(idOf(delay), outcomeOf(error, call.closing))) {
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

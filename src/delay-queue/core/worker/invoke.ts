import { adopted } from '../api/adopted.js';
import type { PayloadReader } from '../config/payloads.js';
import { apart } from '../tasks/own-scope.js';
import { runAs } from '../transactions/handler-context.js';
import type { Attempt, Outcome } from './attempt.js';
import {
  type Call,
  toReadingOutcome,
  plainArguments,
  argumentsWith,
  type HandlerArguments,
  toOutcome,
} from './call.js';
import { runMiddleware } from './middleware.js';

/**
 * Reads the payloads of a call. Another node may read what this one cannot, or this one after a
 * deploy: a newer version of the application wrote it, for example, or with a new key.
 *
 * @returns the payloads that the handler gets, or the outcome of a call without any
 */
export async function readPayloads(
  call: Call,
  read: PayloadReader,
): Promise<Map<Attempt, unknown> | Outcome> {
  const payloads = new Map<Attempt, unknown>();
  const unread = new Map<Attempt, Outcome>();
  call.isReading = true;
  for (const attempt of call.attempts) {
    if (call.over) break;
    try {
      payloads.set(attempt, await read(attempt.row.payload, attempt));
    } catch (error) {
      if (attempt.onDead?.isUndecodable(error)) payloads.set(attempt, undefined);
      else unread.set(attempt, toReadingOutcome(error, call.stopping));
    }
  }
  call.isReading = false;
  // Decided meanwhile, or about to be: this process stood still, and another node has the row.
  if (call.over || call.leaseEndsAtMs <= performance.now()) return { kind: 'lost' };
  if (call.stopping === 'released' && call.onDead === null) return { kind: 'released' };
  for (const attempt of payloads.keys()) if (attempt.over) payloads.delete(attempt);
  if (call.handler.batch === null) return [...unread.values()][0] ?? payloads;
  for (const [{ id }, outcome] of unread) call.say(String(id), outcome);
  return payloads.size === 0 ? { kind: 'completed' } : payloads;
}

const COMPLETED: Outcome = { kind: 'completed' };

/**
 * Calls the handler.
 * @returns the outcome; a promise, which costs a turn, only if the handler returned one or payloads
 * have to be read
 */
export function invoke(call: Call): Outcome | Promise<Outcome> {
  call.called = true;
  const { readPayload } = call.handler;
  return readPayload === undefined
    ? handled(call, plainArguments)
    : afterReading(call, readPayload);
}

async function afterReading(call: Call, readPayload: PayloadReader): Promise<Outcome> {
  const read = await readPayloads(call, readPayload);
  if (!(read instanceof Map)) return read;
  return handled(call, () => argumentsWith(call, read));
}

function handled(
  call: Call,
  argumentsFor: (call: Call) => HandlerArguments,
): Outcome | Promise<Outcome> {
  let given: HandlerArguments;
  try {
    given = argumentsFor(call);
  } catch (error) {
    return toReadingOutcome(error, call.stopping);
  }
  try {
    const { work, ctx } = given;
    const { handler } = call;
    const handle = (): unknown => adopted(handler.invoke(work, ctx));
    const isBare = handler.around.length === 0;
    const run = (): unknown =>
      runAs(call, isBare ? handle : () => runMiddleware(call, work, handle));
    // The next plain call begins in the same turn, a transaction in a context of its own.
    const result = handler.transactional ? run() : apart(run);
    if (!(result instanceof Promise)) return COMPLETED;
    return result.then(
      () => COMPLETED,
      (error: unknown) => toOutcome(error, call.stopping),
    );
  } catch (error) {
    return toOutcome(error, call.stopping);
  }
}

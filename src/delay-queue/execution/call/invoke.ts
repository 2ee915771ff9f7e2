import { AsyncResource } from 'node:async_hooks';
import { adopted } from '../../delay/adopted.js';
import { runAs } from '../../producer/transaction/handler-context.js';
import type { PayloadReader } from '../../payloads/payloads.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Call } from './call.js';
import { argumentsOf, argumentsWith, type HandlerArguments } from './handler-arguments.js';
import { outcomeOf, outcomeOfReading } from './outcome-of.js';
import { readPayloads } from './read-payloads.js';
import { surrounded } from './surrounded.js';

const COMPLETED: Outcome = { kind: 'completed' };

/**
 * Calls the handler.
 * @returns what came of it; a promise only where the handler returned one, or payloads have to be read, for each costs
 * a turn
 */
export function invoke(call: Call): Outcome | Promise<Outcome> {
  call.called = true;
  const { readPayload } = call.handler;
  return readPayload === undefined ? handled(call, argumentsOf) : afterReading(call, readPayload);
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
    return outcomeOfReading(error, call.stopping);
  }
  try {
    const { work, ctx } = given;
    const { handler } = call;
    const handle = (): unknown => adopted(handler.invoke(work, ctx));
    const isBare = handler.around.length === 0;
    const result = inOwnContext(() =>
      runAs(call, isBare ? handle : () => surrounded(call, work, handle)),
    );
    if (!(result instanceof Promise)) return COMPLETED;
    return result.then(
      () => COMPLETED,
      (error: unknown) => outcomeOf(error, call.stopping),
    );
  } catch (error) {
    return outcomeOf(error, call.stopping);
  }
}

/**
 * What a handler does to its async context (`enterWith`), or what surrounds it, ends with it: the next one begins in the
 * same turn.
 */
const inOwnContext = <Result>(handle: () => Result): Result =>
  new AsyncResource('DelayCall', { requireManualDestroy: true }).runInAsyncScope(handle);

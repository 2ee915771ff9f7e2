import { runAs } from '../../producer/transaction/handler-context.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Call } from './call.js';
import { argumentsOf } from './handler-arguments.js';
import { outcomeOf } from './outcome-of.js';

const COMPLETED: Outcome = { kind: 'completed' };

/**
 * Calls the handler.
 * @returns what came of it; a promise only where the handler returned one, for each costs a turn
 */
export function invoke(call: Call): Outcome | Promise<Outcome> {
  call.called = true;
  try {
    const { work, ctx } = argumentsOf(call);
    const result: unknown = runAs(call, () => call.handler.invoke(work, ctx));
    if (!mayBePromise(result)) return COMPLETED;
    return Promise.resolve(result).then(
      () => COMPLETED,
      (error: unknown) => outcomeOf(error, call.closing),
    );
  } catch (error) {
    return outcomeOf(error, call.closing);
  }
}

const mayBePromise = (result: unknown): boolean =>
  (typeof result === 'object' && result !== null) || typeof result === 'function';

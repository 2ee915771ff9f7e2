import type { ArgumentsHost } from '@nestjs/common';
import type { DelayCall, DelayContext, TransactionalDelayContext } from '../api/contexts.js';
import type { Delay } from '../api/delay.js';

/** What `@Inject(REQUEST)` gives in a request-scoped provider while it serves a delay. */
export interface DelayRequest {
  delay: Delay;
  ctx: DelayContext;
}

/** What `@Inject(REQUEST)` gives while the provider serves a batch. */
export interface DelayBatchRequest {
  delays: Delay[];
  ctx: DelayContext;
}

/** What `getType()` of an `ExecutionContext` answers in the call of a handler. */
export const CONTEXT_TYPE = 'delay';

/** What a guard, an interceptor and a filter find in `getArgs()`: the arguments of the handler. */
export type HandlerCallArguments = [
  work: Delay | Delay[],
  ctx: Pick<TransactionalDelayContext, 'signal'> & Partial<TransactionalDelayContext>,
];

/**
 * The delays, of which a guard, an interceptor or a filter is asked.
 *
 * ```ts
 * canActivate(context: ExecutionContext): boolean {
 *   if (delayCallOf(context) !== undefined) return true; // no user is logged in there
 * ```
 *
 * @returns undefined for requests, messages and whatever else
 */
export function delayCallOf(host: ArgumentsHost): DelayCall | undefined {
  if (host.getType<string>() !== CONTEXT_TYPE) return undefined;
  const [work, ctx] = host.getArgs<HandlerCallArguments>();
  const delays = (Array.isArray(work) ? [...work] : [work]) as unknown as DelayCall['delays'];
  return {
    name: delays[0].name,
    delays,
    get signal() {
      return ctx.signal;
    },
    manager: ctx.manager,
  };
}

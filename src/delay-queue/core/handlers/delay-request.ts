import type { ArgumentsHost } from '@nestjs/common';
import type { Delay, DelayCall, DelayContext, TransactionalDelayContext } from '../api/delay.js';

/** What `@Inject(REQUEST)` injects into a request-scoped provider during the call for a delay. */
export interface DelayRequest {
  delay: Delay;
  ctx: DelayContext;
}

/** What `@Inject(REQUEST)` injects during the call for a batch. */
export interface DelayBatchRequest {
  delays: Delay[];
  ctx: DelayContext;
}

/** `ExecutionContext.getType()` during a call of a handler. */
export const CONTEXT_TYPE = 'delay';

/** The arguments of a handler: `getArgs()` in guards, interceptors and filters. */
export type HandlerCallArguments = [
  work: Delay | Delay[],
  ctx: Pick<TransactionalDelayContext, 'signal'> & Partial<TransactionalDelayContext>,
];

/**
 * The call that a guard, interceptor or filter applies to.
 *
 * ```ts
 * canActivate(context: ExecutionContext): boolean {
 *   if (delayCallOf(context) !== undefined) return true; // no user is logged in there
 * ```
 * @returns undefined for requests, messages and anything else
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

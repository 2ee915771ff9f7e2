import type { Delay } from '../../delay/delay.js';
import type { DelayContext } from '../../delay/contexts.js';

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

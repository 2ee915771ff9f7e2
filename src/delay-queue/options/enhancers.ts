import { DelayInvalidError } from '../delay/delay.errors.js';
import { shown } from '../validation/shown.js';

/**
 * Which of Nest's guards, interceptors, pipes and filters take part in the calls of a handler: `false` none; `'own'`
 * those that its class and its method name; `'all'` the application's, too.
 */
export type DelayEnhancers = false | 'own' | 'all';

/** @throws DelayInvalidError that says what there is */
export function parseEnhancers(value: unknown): DelayEnhancers {
  if (value === false || value === 'own' || value === 'all') return value;
  throw new DelayInvalidError(
    'enhancers',
    `must be 'own' (of the handler's class and method), 'all' (the application's, too) or false, not ${shown(value)}`,
  );
}

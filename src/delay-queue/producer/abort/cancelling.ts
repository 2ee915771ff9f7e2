import type { InTransaction } from '../../delay/delay.js';
import { DelayInvalidError } from '../../delay/delay.errors.js';
import { parseDurationBetween } from '../../validation/duration.js';
import { checkKnownOptions } from '../../validation/known-options.js';
import { shown } from '../../validation/shown.js';

/** How long a cancel waits for the end of an attempt. */
const ABORT_WITHIN_MS = 5_000;

/** What a cancel says beside its targets. */
export interface Cancelling {
  transaction: InTransaction;
  /** How long to wait for the end of what runs; undefined when that is left alone. */
  abortWithinMs: number | undefined;
}

/** The same of those that match a filter, and what is left of its options. @throws DelayInvalidError naming the option */
export function cancellingMatchingOf(options: unknown): { cancelling: Cancelling; rest: object } {
  const known = ['manager', 'signal', 'onProgress', 'running', 'abortWithin'];
  const { running, abortWithin, ...rest } = checkKnownOptions(options, 'options', known);
  const cancel = Object.entries({ running, abortWithin }).filter(
    ([, value]) => value !== undefined,
  );
  return { cancelling: cancellingOf(Object.fromEntries(cancel)), rest };
}

/** @throws DelayInvalidError naming the option */
export function cancellingOf(options: unknown): Cancelling {
  const given = checkKnownOptions(options, 'options', ['manager', 'running', 'abortWithin']);
  const { running = 'leave', abortWithin } = given;
  const transaction: InTransaction =
    'manager' in given ? { manager: given['manager'] as never } : {};
  if (running !== 'leave' && running !== 'abort') {
    throw new DelayInvalidError('running', `must be 'leave' or 'abort', not ${shown(running)}`);
  }
  if (running === 'leave') {
    if (abortWithin === undefined) return { transaction, abortWithinMs: undefined };
    throw new DelayInvalidError('abortWithin', "is only for `running: 'abort'`");
  }
  const abortWithinMs =
    abortWithin === undefined
      ? ABORT_WITHIN_MS
      : parseDurationBetween(abortWithin, 'abortWithin', '1ms', '1h');
  return { transaction, abortWithinMs };
}

import {
  DelayConflictError,
  DelayInvalidError,
  DelayPayloadError,
  DelayUnavailableError,
  DelayUnstableError,
} from '../api/errors.js';
import { describeError, printable } from '../api/error-text.js';
import { isRefusal, sqlStateOf } from '../database/driver-errors.js';
import { Refusal } from './exchange.js';

/** Reports an error that is not the viewer's. */
export type Report = (error: unknown) => void;

const QUERY_CANCELED = '57014';

/** What a viewer is told of an error. One that is not of the request is reported, too. */
export function refusalOf(error: unknown, report: Report): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DelayInvalidError) return new Refusal('invalid', error.message, error.field);
  if (error instanceof DelayPayloadError) return new Refusal('invalid', error.message, 'payload');
  if (error instanceof DelayConflictError) return new Refusal('conflict', error.message);
  if (error instanceof DelayUnstableError) return new Refusal('busy', error.message);
  if (sqlStateOf(error) === QUERY_CANCELED) {
    return new Refusal(
      'slow',
      'The database did not answer in time. Narrow the filter: a key, a name or a shorter range.',
    );
  }
  if (error instanceof DelayUnavailableError || isConnectionError(error)) {
    return new Refusal(
      'databaseGone',
      `The database cannot be reached: ${printable(describeError(error))}`,
    );
  }
  report(error);
  return new Refusal('failed', 'The dashboard failed. The log of the application has the error.');
}

/** Not the server's answer to a statement, and no mistake of ours. */
const isConnectionError = (error: unknown): boolean => {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(?:08|57P|53)/.test(state);
  return !isRefusal(error) && /connect|ECONN|terminat|timeout|socket/i.test(String(error));
};

import {
  DelayConflictError,
  DelayInvalidError,
  DelayPayloadError,
  DelayUnavailableError,
  DelayUnstableError,
} from '../api/errors.js';
import { describeError, printable } from '../api/error-text.js';
import { readsTrouble, type Trouble, troubleOf } from '../database/trouble.js';
import type { ProblemKind } from './contract.js';
import { Refusal } from './exchange.js';

/** Reports an error that is not the viewer's. */
export type Report = (error: unknown) => void;

/** Others: the database is gone. */
const PROBLEMS: Partial<Record<Trouble, ProblemKind>> = {
  slow: 'slow',
  cancelled: 'busy',
  locked: 'busy',
  pool: 'busy',
  full: 'busy',
};

/** What a viewer is told of an error. One that is not of the request is reported, too. */
export function refusalOf(error: unknown, report: Report): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DelayInvalidError) return new Refusal('invalid', error.message, error.field);
  if (error instanceof DelayPayloadError) return new Refusal('invalid', error.message, 'payload');
  if (error instanceof DelayConflictError) return new Refusal('conflict', error.message);
  if (error instanceof DelayUnstableError) return new Refusal('busy', error.message);
  const trouble = troubleOf(error);
  const problem = (trouble && PROBLEMS[trouble]) ?? 'databaseGone';
  if (error instanceof DelayUnavailableError) {
    const { message, cause } = error;
    const why = cause === undefined ? '' : ` (${printable(describeError(cause))})`;
    return new Refusal(problem, `${message}${why}`);
  }
  if (trouble !== undefined) return new Refusal(problem, sentence(trouble, error));
  report(error);
  return new Refusal('failed', 'The dashboard failed. The log of the application has the error.');
}

function sentence(trouble: Trouble, error: unknown): string {
  const reads = readsTrouble(error);
  const what = reads.charAt(0).toUpperCase() + reads.slice(1);
  // The dashboard's own limits: there is nothing more to say.
  if (trouble === 'slow' || trouble === 'pool') return `${what}. Try again in a moment.`;
  return `${what}: ${printable(describeError(error))}`;
}

/** What a filter selects took too long: a narrower one helps. */
export async function filtered<Result>(filter: object, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (troubleOf(error) !== 'slow' || Object.keys(filter).length === 0) throw error;
    throw new Refusal(
      'slow',
      'The database did not answer in time. Narrow the filter: a key, a name or a shorter range.',
    );
  }
}

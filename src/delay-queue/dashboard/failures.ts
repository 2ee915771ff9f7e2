import { readsTrouble, type Trouble, classifyTrouble } from '../core/diagnosis.js';
import {
  DelayConflictError,
  DelayInvalidError,
  DelayPayloadError,
  DelayUnavailableError,
  DelayUnstableError,
  describeError,
  printable,
} from '../core/index.js';
import type { ProblemKind } from './contract.js';
import { Refusal } from './exchange.js';

export type Report = (error: unknown) => void;

/** Any other trouble means that the database is gone. */
const PROBLEMS: Partial<Record<Trouble, ProblemKind>> = {
  slow: 'slow',
  cancelled: 'busy',
  locked: 'busy',
  pool: 'busy',
  full: 'busy',
};

/** Turns an error into what the viewer may know. One that the request did not cause is also reported. */
export function asRefusal(error: unknown, report: Report): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DelayInvalidError) return new Refusal('invalid', error.message, error.field);
  if (error instanceof DelayPayloadError) return new Refusal('invalid', error.message, 'payload');
  if (error instanceof DelayConflictError) return new Refusal('conflict', error.message);
  if (error instanceof DelayUnstableError) return new Refusal('busy', error.message);
  const trouble = classifyTrouble(error);
  const problem = (trouble && PROBLEMS[trouble]) ?? 'databaseGone';
  if (error instanceof DelayUnavailableError) {
    const { message, cause } = error;
    const why = cause === undefined ? '' : ` (${printable(describeError(cause))})`;
    return new Refusal(problem, `${message}${why}`);
  }
  if (trouble !== undefined) return new Refusal(problem, troubleSentence(trouble, error));
  report(error);
  return new Refusal('failed', 'The dashboard failed. The log of the application has the error.');
}

function troubleSentence(trouble: Trouble, error: unknown): string {
  const reads = readsTrouble(error);
  const what = reads.charAt(0).toUpperCase() + reads.slice(1);
  // These are the dashboard's own limits, so the database's words add nothing.
  if (trouble === 'slow' || trouble === 'pool') return `${what}. Try again in a moment.`;
  return `${what}: ${printable(describeError(error))}`;
}

/** If a filtered read takes too long, suggests a narrower filter. */
export async function filtered<Result>(filter: object, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (classifyTrouble(error) !== 'slow' || Object.keys(filter).length === 0) throw error;
    throw new Refusal(
      'slow',
      'The database did not answer in time. Narrow the filter: a key, a name or a shorter range.',
    );
  }
}

import { LATE, within } from '../tasks/within.js';

/** A codec or a schema that does not answer holds its call no longer than this. */
const ANSWERS_WITHIN_MS = 30_000;

/**
 * @param answer of a codec or a schema, adopted
 * @param late what its call hears when its time is over
 * @returns the same
 */
export function inTime<Answer>(
  answer: Answer | Promise<Answer>,
  late: (why: string) => Error,
): Answer | Promise<Answer> {
  return answer instanceof Promise ? answeredInTime(answer, late) : answer;
}

async function answeredInTime<Answer>(
  answer: Promise<Answer>,
  late: (why: string) => Error,
): Promise<Answer> {
  const value = await within(answer, ANSWERS_WITHIN_MS, { ref: false });
  if (value !== LATE) return value;
  throw late(`did not answer within ${ANSWERS_WITHIN_MS} ms`);
}

import type { GoesOn } from '../recurrence/recurrence.js';
import type { EndedOccurrence } from '../store/rows/attempt-rows.js';
import type { Attempt, OccurrenceEnd } from './attempt.js';

/** Only of a row that another version wrote. */
export const UNREADABLE = 'this version cannot read how the delay recurs';

export const COMPLETED: OccurrenceEnd = { state: 'completed', error: null };
export const MISSED: OccurrenceEnd = { state: null, error: null };

/** Of a recurrence that nothing follows: otherwise, nothing would tell that it has ended. */
const LAST_MISSED: OccurrenceEnd = { state: 'discarded', error: 'its last instant was missed' };

/** What is written for an ended occurrence; undefined if the next instant is unknown. */
export function endOccurrence(
  { id, epoch, latenessMs, occurrence, stopsRepeating, onDead }: Attempt,
  end: OccurrenceEnd,
): EndedOccurrence | undefined {
  if (occurrence === null) return undefined;
  const isStopped = stopsRepeating && (end === COMPLETED || end === onDead?.ends);
  let goesOn: GoesOn;
  try {
    goesOn = occurrence.goesOn(end === MISSED ? 'missed' : isStopped ? 'stopped' : 'ran');
  } catch {
    return undefined;
  }
  return {
    id,
    epoch,
    dueMs: occurrence.dueMs,
    ...goesOn,
    ...(end === MISSED && goesOn.nextMs === undefined ? LAST_MISSED : end),
    latenessMs: end.state === 'completed' ? latenessMs : null,
    maxAttempts: null,
  };
}

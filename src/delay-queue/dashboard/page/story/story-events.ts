import type {
  AttemptLine,
  Instant,
  MoveLine,
  OperationLine,
  StoryDelay,
  StoryView,
} from '../../contract.js';

/** One thing that happened to a business key, or will happen. */
export type StoryEvent = { at: Instant; atMs: number } & (
  | { what: 'scheduled' | 'due' | 'dead' | 'ended'; lane: number; delay: StoryDelay }
  | { what: 'moved'; lane: number; delay: StoryDelay; move: MoveLine }
  | { what: 'attempt'; lane: number; delay: StoryDelay; attempt: AttemptLine }
  | { what: 'operation'; operation: OperationLine }
);

/** Which of two events in the same millisecond comes first. */
const ORDER: Record<StoryEvent['what'], number> = {
  operation: 0,
  scheduled: 1,
  moved: 2,
  due: 3,
  attempt: 4,
  dead: 5,
  ended: 6,
};

/** The runs of a key, oldest first: a lane each. */
export const storyLanes = ({ delays }: StoryView): StoryDelay[] =>
  delays.toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt) || idOrder(a, b));

/** Ids may exceed what a number can hold. */
const idOrder = (a: StoryDelay, b: StoryDelay): number =>
  a.id.length - b.id.length || (a.id < b.id ? -1 : 1);

/** All runs of a key as one story, oldest first. */
export function storyEvents(story: StoryView): StoryEvent[] {
  const events = storyLanes(story).flatMap(delayEvents);
  for (const operation of story.operations) {
    events.push({ ...timed(operation.startedAt), what: 'operation', operation });
  }
  return events.toSorted((a, b) => a.atMs - b.atMs || ORDER[a.what] - ORDER[b.what]);
}

const timed = (at: Instant): { at: Instant; atMs: number } => ({ at, atMs: Date.parse(at) });

function delayEvents(delay: StoryDelay, lane: number): StoryEvent[] {
  const its = { lane, delay };
  const events: StoryEvent[] = [{ ...timed(delay.createdAt), what: 'scheduled', ...its }];
  for (const move of delay.moveLog) events.push({ ...timed(move.at), what: 'moved', ...its, move });
  for (const attempt of delay.attemptLog) {
    events.push({ ...timed(attempt.startedAt), what: 'attempt', ...its, attempt });
  }
  if (delay.endedAt !== null) events.push({ ...timed(delay.endedAt), what: 'ended', ...its });
  else if (delay.state === 'dead') events.push({ ...timed(diedAt(delay)), what: 'dead', ...its });
  else if (delay.state !== 'running') {
    events.push({ ...timed(delay.wakeAt ?? delay.dueAt), what: 'due', ...its });
  }
  return events;
}

/** Only the last attempt tells when a delay died. */
export const diedAt = ({ attemptLog, dueAt }: StoryDelay): Instant =>
  attemptLog.at(-1)?.endedAt ?? dueAt;

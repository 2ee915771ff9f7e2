/**
 * docs/architecture.md, for all who judge by it: the tests of the document, of verdicts and of
 * interleavings, and the chaos run. test/docs/state-machine.spec.ts compares.
 */

/** Every write that a caller can ask for about a key; of schedule, each `onConflict`. */
export type CallersWrite = 'replace' | 'keep' | 'error' | 'cancel' | 'reschedule' | 'retryDead';

type Verdicts = Record<CallersWrite, string>;

const schedules = (verdict: string) => ({ replace: verdict, keep: verdict, error: verdict });

const FREE: Verdicts = {
  replace: 'replaced',
  keep: 'kept',
  error: 'DELAY_CONFLICT',
  cancel: 'cancelled',
  reschedule: 'rescheduled',
  retryDead: 'absent',
};
const HELD: Verdicts = {
  ...schedules('running'),
  cancel: 'running',
  reschedule: 'running',
  retryDead: 'absent',
};

/** What a write answers by the committed state of the row; a code where it throws. */
export const VERDICTS = {
  none: { ...schedules('scheduled'), cancel: 'absent', reschedule: 'absent', retryDead: 'absent' },
  scheduled: FREE,
  retrying: FREE,
  running: HELD,
  'lease over': FREE,
  'lease over, being removed': HELD,
  dead: {
    ...schedules('scheduled'),
    cancel: 'cancelled',
    reschedule: 'absent',
    retryDead: 'retried',
  },
  'running, by its handler': {
    ...schedules('scheduled'),
    cancel: 'running',
    reschedule: 'rescheduled',
    retryDead: 'absent',
  },
} satisfies Record<string, Verdicts>;
export type RowState = keyof typeof VERDICTS;

/** What a write looks like from outside: to a trigger that sees the row before and after. */
export type Step =
  | 'schedule'
  | 'replace'
  | 'revive'
  | 'reschedule'
  | 'cancel'
  | 'discard'
  | 'retry dead'
  | 'claim'
  | 'renew'
  | 'complete'
  | 'settle'
  | 'bury'
  | 'move on';

type End = 'completed' | 'cancelled' | 'discarded' | 'superseded';

export interface Write {
  /** The statement, as the document calls it. */
  statement: string;
  /** The row that it needs: none, one without a running lease, one with a lease, a dead letter. */
  needs: 'none' | 'free' | 'held' | 'dead';
  epoch: 'new' | 'rises' | 'stays' | 'gone';
  attempts: 'none' | 'one more' | 'stay' | 'one less' | 'gone';
  lease: 'none' | 'cleared' | 'taken' | 'gone';
  /** As the document says it. */
  wake: string;
  by: 'caller' | 'node';
  /** Its steps, and the line of history that each writes, if any. `revive` and `discard` find a dead letter. */
  steps: Partial<Record<Step, End | null>>;
  /** Answers that are true only if it has been done. */
  verdicts: readonly string[];
}

const NEW = { epoch: 'new', attempts: 'none', lease: 'none', by: 'caller' } as const;
const GONE = { epoch: 'gone', attempts: 'gone', lease: 'gone', wake: 'the row goes' } as const;
const ANEW = { epoch: 'rises', attempts: 'none', lease: 'cleared', by: 'caller' } as const;
const DUE = 'due, or now if past';
/** What the node that holds the lease says of its attempt. */
const SETTLED = {
  statement: 'settle',
  needs: 'held',
  epoch: 'rises',
  lease: 'cleared',
  by: 'node',
} as const;
const GIVEN_BACK = { ...SETTLED, attempts: 'one less', steps: { settle: null } } as const;

/** Every write, by its name in the document. */
export const WRITES: Record<string, Write> = {
  'schedule, new': {
    ...NEW,
    statement: 'place',
    needs: 'none',
    wake: DUE,
    steps: { schedule: null },
    verdicts: ['scheduled'],
  },
  'schedule, key taken': {
    ...ANEW,
    statement: 'place-again',
    needs: 'free',
    wake: DUE,
    steps: { replace: null, revive: 'discarded' },
    verdicts: ['replaced', 'scheduled'],
  },
  'scheduleMany meets a conflict': {
    ...GONE,
    statement: 'unplace',
    needs: 'free',
    wake: 'its own new rows go',
    by: 'caller',
    // In the transaction that had made them: nobody has seen them.
    steps: {},
    verdicts: [],
  },
  reschedule: {
    ...ANEW,
    statement: 'reschedule',
    needs: 'free',
    wake: DUE,
    steps: { reschedule: null },
    verdicts: ['rescheduled'],
  },
  cancel: {
    ...GONE,
    statement: 'cancel',
    needs: 'free',
    by: 'caller',
    steps: { cancel: 'cancelled', discard: 'discarded' },
    verdicts: ['cancelled'],
  },
  retryDead: {
    ...ANEW,
    lease: 'none',
    statement: 'retry-dead',
    needs: 'dead',
    wake: 'now, and due with it',
    steps: { 'retry dead': null },
    verdicts: ['retried'],
  },
  claim: {
    statement: 'claim',
    needs: 'free',
    epoch: 'rises',
    attempts: 'one more',
    lease: 'taken',
    wake: 'as it was',
    by: 'node',
    steps: { claim: null },
    verdicts: ['claimed'],
  },
  'claim, to make a dead letter': {
    statement: 'claim',
    needs: 'held',
    epoch: 'rises',
    attempts: 'stay',
    lease: 'taken',
    wake: 'as it was',
    by: 'node',
    // Of names with `@OnDeadDelay`, which the chaos run has none of: no other claim leaves the attempts as they were.
    steps: {},
    verdicts: [],
  },
  renew: {
    statement: 'renew',
    needs: 'held',
    epoch: 'stays',
    attempts: 'stay',
    lease: 'taken',
    wake: 'as it was',
    by: 'node',
    steps: { renew: null },
    verdicts: ['renewed'],
  },
  complete: {
    ...GONE,
    statement: 'complete',
    needs: 'held',
    by: 'node',
    steps: { complete: 'completed' },
    verdicts: ['completed'],
  },
  'fail, attempts left': {
    ...SETTLED,
    attempts: 'stay',
    wake: 'now + backoff',
    steps: { settle: null },
    verdicts: ['failed'],
  },
  postpone: { ...GIVEN_BACK, wake: 'now + pause, due with it', verdicts: [] },
  'split, when its batch fails': { ...GIVEN_BACK, wake: 'now', verdicts: [] },
  'give back, handler not called': { ...GIVEN_BACK, wake: 'now + pause', verdicts: [] },
  'pass on, payload not read': {
    ...GIVEN_BACK,
    statement: 'pass-on',
    wake: 'as it was',
    verdicts: [],
  },
  release: { ...GIVEN_BACK, wake: 'now', verdicts: [] },
  abort: { ...GIVEN_BACK, wake: 'now + 1 s', verdicts: [] },
  'dead letter': {
    ...SETTLED,
    attempts: 'stay',
    wake: '`infinity`',
    steps: { bury: null },
    verdicts: ['failed'],
  },
  'dead letter, found at a claim': {
    ...SETTLED,
    statement: 'bury',
    needs: 'free',
    attempts: 'stay',
    wake: '`infinity`',
    steps: { bury: null },
    verdicts: [],
  },
  'own key moved on': {
    ...ANEW,
    statement: 'move-on',
    needs: 'held',
    wake: DUE,
    steps: { 'move on': 'superseded' },
    verdicts: ['scheduled', 'rescheduled'],
  },
};

export const STEPS = [
  ...new Set(Object.values(WRITES).flatMap(({ steps }) => Object.keys(steps) as Step[])),
];

/** The writes that look like that. */
export const writesOf = (step: Step): Write[] =>
  Object.values(WRITES).filter(({ steps }) => step in steps);

/** Whether the row was a dead letter before; `schedule` finds none at all. */
export const findsDead = (step: Step): boolean =>
  step === 'revive' || step === 'discard' || writesOf(step).every(({ needs }) => needs === 'dead');

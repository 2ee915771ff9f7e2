import type { DelayHeaders, DelayName, OnConflict, PayloadOf } from '../api/delay.js';
import { DelayTestingError } from './delay-run.js';

/** A call about one delay that the stub received, with parsed arguments. */
export interface StubCall {
  call: 'schedule' | 'cancel' | 'reschedule' | 'retryDead' | 'discardDead';
  name: string;
  key: string | null;
  /** The transaction that the call named; undefined: none. */
  manager: unknown;
  /** The verdict of the call; undefined if it threw. */
  verdict: string | undefined;
}

/** A call that schedules one delay; each item of `scheduleMany` is one. */
export interface StubScheduled<N extends DelayName = DelayName> extends StubCall {
  call: 'schedule';
  name: N;
  payload: PayloadOf<N>;
  /** In milliseconds; null beside `at`. */
  after: number | null;
  at: Date | null;
  onConflict: OnConflict;
  maxAttempts: number | null;
  group: string | null;
  headers: DelayHeaders;
}

/** An answer that a test can choose for the next call. */
export type StubAnswer =
  | 'scheduled'
  | 'replaced'
  | 'kept'
  | 'running'
  | 'cancelled'
  | 'rescheduled'
  | 'retried'
  | 'discarded'
  | 'absent'
  | Error;

const VERDICTS: Readonly<Record<StubCall['call'], readonly string[]>> = {
  schedule: ['scheduled', 'replaced', 'kept', 'running'],
  cancel: ['cancelled', 'running', 'absent'],
  reschedule: ['rescheduled', 'running', 'absent'],
  retryDead: ['retried', 'absent'],
  discardDead: ['discarded', 'absent'],
};

/** @throws the chosen error, or DelayTestingError for a verdict that this call never returns */
export function chosenVerdict(call: StubCall['call'], answer: StubAnswer): string {
  if (answer instanceof Error) throw answer;
  if (!VERDICTS[call].includes(answer)) {
    throw new DelayTestingError(
      `${call} never returns ${answer}: give answerNext one of ${VERDICTS[call].join(', ')}, or an error`,
    );
  }
  return answer;
}

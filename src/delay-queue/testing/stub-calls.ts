import type { DelayHeaders, DelayName, OnConflict, PayloadOf } from '../api/delay.js';
import { DelayTestingError } from './delay-run.js';

/** A call about one delay that the stub has heard, as the library understood it. */
export interface StubCall {
  call: 'schedule' | 'cancel' | 'reschedule' | 'retryDead' | 'discardDead';
  name: string;
  key: string | null;
  /** The transaction that the call named; undefined: none. */
  manager: unknown;
  /** What it was answered; undefined where it threw. */
  verdict: string | undefined;
}

/** One delay that was to be scheduled; those of `scheduleMany` are one each. */
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

/** What a test can have the next call answer. */
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

/** @throws the error that was chosen, or DelayTestingError for a verdict that this call never answers */
export function chosenVerdict(call: StubCall['call'], answer: StubAnswer): string {
  if (answer instanceof Error) throw answer;
  if (!VERDICTS[call].includes(answer)) {
    throw new DelayTestingError(
      `${call} never answers ${answer}: let answerNext choose ${VERDICTS[call].join(', ')} or an error`,
    );
  }
  return answer;
}

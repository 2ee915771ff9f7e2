import { expect, it } from '@jest/globals';
import {
  type AttemptEnd,
  type DelayAdminAction,
  type DelayAdminMessage,
  type DelayAttemptMessage,
  type DelayChangeMessage,
  type DelayChannel,
  type DelayChannelMap,
  type DelayChannelName,
  delayChannels,
  type DelayClaimMessage,
  type DelayCompleteMessage,
  type DelaySkippedMessage,
  type DelayFetchMessage,
  type DelayMessage,
  type DelayScheduleMessage,
  type DelaySubscribers,
  type DelayTracingChannel,
} from 'nestjs-delay-queue';
import { fits, same } from '../../support/same-type.js';

function told(): void {
  const { attempt } = delayChannels;
  attempt.asyncEnd.subscribe((message) => void message);
  fits<boolean>(attempt.hasSubscribers);
  same<typeof attempt, DelayTracingChannel<DelayAttemptMessage>>(true);
  same<typeof attempt.asyncEnd, DelayChannel<DelayAttemptMessage>>(true);
  same<keyof DelaySubscribers<DelayMessage>, 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error'>(
    true,
  );
  // @ts-expect-error -- no such channel
  fits(delayChannels.sweep);
  type Names = 'schedule' | 'cancel' | 'reschedule' | 'admin' | 'attempt' | 'claim' | 'load';
  same<DelayChannelName, Names | 'scan' | 'complete' | 'skipped'>(true);
  same<DelayChannelMap['attempt'], DelayAttemptMessage>(true);
  same<DelayChannelMap['schedule'], DelayScheduleMessage>(true);
  same<DelayChannelMap['cancel'], DelayChangeMessage>(true);
  same<DelayChannelMap['admin'], DelayAdminMessage>(true);
  type Ends = 'cancel' | 'discardDead' | 'erase' | 'pause' | 'resume';
  same<DelayAdminAction, Ends | 'reschedule' | 'runNow' | 'retryDead'>(true);
  same<DelayAdminMessage['verdicts'], Readonly<Record<string, number>> | undefined>(true);
  same<DelayChannelMap['claim'], DelayClaimMessage>(true);
  same<DelayChannelMap['load'], DelayFetchMessage>(true);
  same<DelayChannelMap['complete'], DelayCompleteMessage>(true);
  same<DelayChannelMap['skipped'], DelaySkippedMessage>(true);
  same<keyof DelayMessage, 'node' | 'error'>(true);
  same<DelayAttemptMessage['outcome'], AttemptEnd | undefined>(true);
  same<'payload' extends keyof DelayAttemptMessage ? true : false, false>(true);
}

it('the channels are typed, and no message has a payload', () => {
  expect(told).toBeInstanceOf(Function);
});

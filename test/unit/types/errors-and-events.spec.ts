import { expect, it } from '@jest/globals';
import {
  type AttemptEndEvent,
  type AttemptEvent,
  type AttemptFailedEvent,
  type DeadEvent,
  DelayAbortedError,
  DelayAroundError,
  DelayCodecError,
  DelayConfigError,
  DelayConflictError,
  type DelayEmitter,
  DelayError,
  type DelayEventMap,
  DelayEvents,
  DelayGuardError,
  DelayInterceptorError,
  DelayInvalidError,
  DelayLeaseLostError,
  type DelayListener,
  type DelayMethod,
  type DecoratorOf,
  DelayOutcomeUnknownError,
  DelayPayloadError,
  DelayRolledBackError,
  DelayShutdownError,
  DelayTimeoutError,
  DelayTransactionOverError,
  DelayUnavailableError,
  DelayUnbegunError,
  DelayUnstableError,
  DelayWheelFullError,
  DiscardDelay,
  type Duration,
  OnDelayEvent,
  type PayloadIssue,
  PostponeDelay,
  type SkippedEvent,
  type WrittenEvent,
  printable,
  printableError,
} from 'nestjs-delay-queue';
import { fits, same } from '../../support/same-type.js';

/** What an error is made of, and its code. */
type Made<E extends abstract new (...given: never[]) => { code: string }> = (
  ...given: ConstructorParameters<E>
) => InstanceType<E>['code'];

function shown() {
  same<typeof printable, (text: string, lengthMax?: number) => string>(true);
  same<typeof printableError, (error: unknown) => string>(true);
}

function errors() {
  type Why<Code> = (...given: ConstructorParameters<typeof Error>) => Code;
  same<Made<typeof DelayConfigError>, Why<'DELAY_CONFIG'>>(true);
  same<Made<typeof DelayInvalidError>, (field: string, why: string) => 'DELAY_INVALID'>(true);
  same<Made<typeof DelayConflictError>, (name: string, key: string) => 'DELAY_CONFLICT'>(true);
  same<Made<typeof DelayUnstableError>, (heldMs: number) => 'DELAY_UNSTABLE'>(true);
  same<Made<typeof DelayRolledBackError>, () => 'DELAY_ROLLED_BACK'>(true);
  same<Made<typeof DelayTransactionOverError>, () => 'DELAY_TRANSACTION_OVER'>(true);
  same<Made<typeof DelayUnbegunError>, (withinMs: number) => 'DELAY_UNBEGUN'>(true);
  same<
    Made<typeof DelayTimeoutError>,
    (timeoutMs: number, locks?: readonly string[]) => 'DELAY_TIMEOUT'
  >(true);
  same<Made<typeof DelayLeaseLostError>, () => 'DELAY_LEASE_LOST'>(true);
  same<Made<typeof DelayAbortedError>, () => 'DELAY_ABORTED'>(true);
  same<Made<typeof DelayWheelFullError>, (capacity: number) => 'DELAY_WHEEL_FULL'>(true);
  same<Made<typeof DelayShutdownError>, () => 'DELAY_SHUTDOWN'>(true);
  type WithCause<Code> = (why: string, cause?: unknown) => Code;
  same<Made<typeof DelayUnavailableError>, WithCause<'DELAY_UNAVAILABLE'>>(true);
  same<Made<typeof DelayOutcomeUnknownError>, (cause: unknown) => 'DELAY_OUTCOME_UNKNOWN'>(true);
  same<Made<typeof DelayAroundError>, Why<'DELAY_AROUND'>>(true);
  same<Made<typeof DelayGuardError>, Why<'DELAY_GUARD'>>(true);
  same<Made<typeof DelayInterceptorError>, Why<'DELAY_INTERCEPTOR'>>(true);
  type Issues = readonly PayloadIssue[];
  same<Made<typeof DelayPayloadError>, (issues: Issues) => 'DELAY_PAYLOAD'>(true);
  same<Made<typeof DelayCodecError>, WithCause<'DELAY_CODEC'>>(true);
  // @ts-expect-error -- abstract: each is one of the others
  fits(new DelayError('why'));
  same<DelayError['code'], string>(true);
  same<DelayInvalidError['field' | 'why'], string>(true);
  same<DelayConflictError['delayName' | 'key'], string>(true);
  same<DelayPayloadError['issues'], Issues>(true);
  same<ConstructorParameters<typeof DiscardDelay>, [reason: string]>(true);
  same<ConstructorParameters<typeof PostponeDelay>, [after: Duration]>(true);
}

function heard(events: DelayEvents, emitter: DelayEmitter, dead: DeadEvent) {
  const listener: DelayListener<'dead'> = ({ error }) => fits<string>(error);
  fits<DelayEvents>(events.on('dead', listener).once('started', ({ attempt }) => void attempt));
  fits<boolean>(events.isHeard('dead') || events.emit('dead', dead));
  // @ts-expect-error -- no such event
  events.on('died', () => {});
  // @ts-expect-error -- no such event
  emitter.once('died', () => {});
  // @ts-expect-error -- nor can anybody hear it
  events.isHeard('died');
  // @ts-expect-error -- what starts has no error
  events.on('started', ({ error }) => error);
  // @ts-expect-error -- what dies has one
  events.emit('dead', { id: '1' });
  // @ts-expect-error -- nothing to say of it
  fits(new DelayEvents('dead'));
  same<Parameters<DelayListener<'dead'>>, DelayEventMap['dead']>(true);
  same<Exclude<keyof AttemptEndEvent, keyof AttemptEvent>, 'durationMs'>(true);
  same<Exclude<keyof AttemptFailedEvent, keyof AttemptEndEvent>, 'error' | 'cause'>(true);
  type Of = 'id' | 'name' | 'key' | 'group' | 'headers' | 'attempt';
  same<keyof AttemptEvent, Of | 'maxAttempts' | 'latenessMs'>(true);
  same<keyof DeadEvent, Of | 'error' | 'cause' | 'durationMs'>(true);
  same<keyof SkippedEvent, 'id' | 'name' | 'key' | 'group' | 'count' | 'from' | 'to'>(true);
  same<SkippedEvent['from' | 'to'], Date>(true);
  same<keyof WrittenEvent, 'id' | 'name' | 'key' | 'verdict' | 'wakeAt' | 'certain'>(true);
  same<WrittenEvent['wakeAt'], Date | null>(true);
  type Ready = { node: string; names: string[]; worker: boolean; listens: boolean };
  same<ReturnType<typeof OnDelayEvent<'ready'>>, DecoratorOf<DelayMethod<[Ready]>>>(true);
}

class Listeners {
  @OnDelayEvent('dead')
  right({ name, error }: DelayEventMap['dead'][0]): void {
    fits<string[]>([name, error]);
  }

  @OnDelayEvent('stopped')
  async nothing(): Promise<void> {}

  // @ts-expect-error -- no such event
  @OnDelayEvent('died')
  unknownEvent(): void {}

  // @ts-expect-error -- what starts has no error
  @OnDelayEvent('started')
  otherEvent(_event: DelayEventMap['dead'][0]): void {}
}

it('what errors and events are, by `tsc`', () => {
  expect([errors, shown, heard, Listeners]).toBeDefined();
});

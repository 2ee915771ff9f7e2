import { describe, expect, it } from '@jest/globals';
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
  DelayInvalidError,
  DelayLeaseLostError,
  type DelayListener,
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
  type EventMethod,
  OnDelayEvent,
  PostponeDelay,
} from 'nestjs-delay-queue';

/** `tsc` is the judge here, as in `handlers.spec.ts`. */
describe('types of errors', () => {
  it('each has a code of its own', () => {
    const codes: [
      'DELAY_CONFIG',
      'DELAY_INVALID',
      'DELAY_CONFLICT',
      'DELAY_UNSTABLE',
      'DELAY_ROLLED_BACK',
      'DELAY_TRANSACTION_OVER',
      'DELAY_UNBEGUN',
      'DELAY_TIMEOUT',
      'DELAY_LEASE_LOST',
      'DELAY_ABORTED',
      'DELAY_WHEEL_FULL',
      'DELAY_SHUTDOWN',
      'DELAY_UNAVAILABLE',
      'DELAY_OUTCOME_UNKNOWN',
      'DELAY_AROUND',
      'DELAY_PAYLOAD',
      'DELAY_CODEC',
    ] = [
      new DelayConfigError('why').code,
      new DelayInvalidError('key', 'why').code,
      new DelayConflictError('test.a', 'k').code,
      new DelayUnstableError(10_000).code,
      new DelayRolledBackError().code,
      new DelayTransactionOverError().code,
      new DelayUnbegunError(5).code,
      new DelayTimeoutError(5).code,
      new DelayLeaseLostError().code,
      new DelayAbortedError().code,
      new DelayWheelFullError(5).code,
      new DelayShutdownError().code,
      new DelayUnavailableError('why', new Error()).code,
      new DelayOutcomeUnknownError(new Error()).code,
      new DelayAroundError('why').code,
      new DelayPayloadError([{ path: 'payload', message: 'why' }]).code,
      new DelayCodecError('why').code,
    ];
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('each says what it is about', () => {
    const wrong = [
      // @ts-expect-error -- it says why
      () => new DelayConfigError(5),
      // @ts-expect-error -- of which field?
      () => new DelayInvalidError('why'),
      // @ts-expect-error -- of which key?
      () => new DelayConflictError('test.a'),
      // @ts-expect-error -- milliseconds
      () => new DelayUnstableError('10s'),
      // @ts-expect-error -- it knows why
      () => new DelayRolledBackError('why'),
      // @ts-expect-error -- it knows why
      () => new DelayTransactionOverError('why'),
      // @ts-expect-error -- milliseconds
      () => new DelayUnbegunError('5s'),
      // @ts-expect-error -- milliseconds
      () => new DelayTimeoutError('5s'),
      // @ts-expect-error -- it knows why
      () => new DelayLeaseLostError('why'),
      // @ts-expect-error -- it knows why
      () => new DelayAbortedError('why'),
      // @ts-expect-error -- full of how many?
      () => new DelayWheelFullError(),
      // @ts-expect-error -- it knows why
      () => new DelayShutdownError('why'),
      // @ts-expect-error -- it says why
      () => new DelayUnavailableError(),
      // @ts-expect-error -- of which cause?
      () => new DelayOutcomeUnknownError(),
      // @ts-expect-error -- it says why
      () => new DelayAroundError(5),
      // @ts-expect-error -- where, and why
      () => new DelayPayloadError(['why']),
      // @ts-expect-error -- it says why
      () => new DelayCodecError(new Error()),
      // @ts-expect-error -- why?
      () => new DiscardDelay(),
      // @ts-expect-error -- a duration
      () => new PostponeDelay(new Date()),
      // @ts-expect-error -- abstract: each is one of the others
      () => new DelayError('why'),
    ];
    const asked = (error: unknown) => {
      if (error instanceof DelayInvalidError) return [error.field, error.why, error.code];
      if (error instanceof DelayConflictError) return [error.delayName, error.key];
      if (error instanceof DelayPayloadError) return error.issues.map(({ path }) => path);
      if (error instanceof DelayError) return [error.code, error.message];
      return [new DiscardDelay('why').reason, new PostponeDelay('10m').after];
    };
    expect([wrong.length, asked(new DelayInvalidError('key', 'why'))]).toEqual([
      20,
      ['key', 'why', 'DELAY_INVALID'],
    ]);
  });
});

describe('types of events', () => {
  it('name what a listener gets', () => {
    const heard: string[] = [];
    const events = new DelayEvents();
    const listener: DelayListener<'dead'> = ({ name, key }) => heard.push(`${name} ${key}`);
    events.on('dead', listener).once('started', ({ attempt }) => heard.push(attempt.toFixed()));
    const dead: DeadEvent = {
      id: '1',
      name: 'a',
      key: 'k',
      attempt: 1,
      error: '',
      durationMs: null,
      cause: 1,
    };
    expect([events.isHeard('dead'), events.emit('dead', dead), heard]).toEqual([
      true,
      true,
      ['a k'],
    ]);
    const wrong: ((emitter: DelayEmitter) => unknown)[] = [
      // @ts-expect-error -- no such event
      () => events.on('died', () => {}),
      // @ts-expect-error -- nor can anybody hear it
      () => events.isHeard('died'),
      // @ts-expect-error -- what starts has no error
      () => events.on('started', ({ error }) => error),
      // @ts-expect-error -- what dies has one
      () => events.emit('dead', { id: '1' }),
      // @ts-expect-error -- nothing to say of it
      () => new DelayEvents('dead'),
      // @ts-expect-error -- no such event
      (emitter: DelayEmitter) => emitter.once('died', () => {}),
    ];
    expect(wrong).toHaveLength(6);
  });

  it('say what there is of an attempt', () => {
    const asked = (event: AttemptEvent, end: AttemptEndEvent, failed: AttemptFailedEvent) => {
      // @ts-expect-error -- it has not ended
      const durationMs: number = event.durationMs;
      // @ts-expect-error -- it ended, and nobody says that it failed
      const error: string = end.error;
      // @ts-expect-error -- anything may be thrown
      const cause: Error = failed.cause;
      // @ts-expect-error -- never the payload
      const payload: unknown = failed.payload;
      return [durationMs, error, cause, payload, end.durationMs, failed.error];
    };
    // @ts-expect-error -- of a batch that did not run
    const start: AttemptEvent = { id: '1', name: 'a', key: null };
    // @ts-expect-error -- how long?
    const end: AttemptEndEvent = { ...start };
    // @ts-expect-error -- why?
    const failed: AttemptFailedEvent = { ...end };
    // @ts-expect-error -- why?
    const dead: DeadEvent = { id: '1', name: 'a', key: null, attempt: 1 };
    // @ts-expect-error -- one argument each
    const listener: DelayListener<'dead'> = (_event, _more: string) => {};
    // @ts-expect-error -- no such event
    const map: DelayEventMap['died'] = [];
    expect([asked, start, end, failed, dead, listener, map]).toHaveLength(7);
  });
});

describe('types of @OnDelayEvent', () => {
  it('couple the event and what the method gets', () => {
    class Listeners {
      @OnDelayEvent('dead')
      right({ name, error }: DelayEventMap['dead'][0]): void {
        expect([name, error]).toBeDefined();
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
    const method: EventMethod<'ready'> = ({ names }) => void names.join();
    // @ts-expect-error -- it has no payload
    const wrong: EventMethod<'ready'> = ({ payload }) => void payload;
    expect([Listeners, method, wrong]).toHaveLength(3);
  });
});

import type { AsyncLocalStorage } from 'node:async_hooks';
import { type Channel, tracingChannel } from 'node:diagnostics_channel';
import type { DelayHeaders } from './delay.js';
import type { AttemptEvent, SkippedEvent } from './events.js';
import type { DelayFilter, DelayTarget } from './selection.js';

/*
 * What happens on the nodes of this process, as tracing channels of `node:diagnostics_channel`. While
 * a channel has no subscriber, it costs a look at that.
 */

/** Fields of every message. One object for all events of an operation, from `start` to `asyncEnd`. */
export interface DelayMessage {
  /** Name of the node. */
  node: string;
  /** Why it failed; set before `error` is published. */
  error?: unknown;
}

/** One `cancel` or `reschedule`, or one `cancelMany` or `rescheduleMany`, which has `count` targets. */
export interface DelayChangeMessage extends DelayMessage {
  /** Null: several names, or targets by id. */
  name: string | null;
  /** Null for a list. */
  key: string | null;
  count: number;
  /** From `asyncEnd` on, if it did not fail; of a list only if all are the same. */
  verdict?: string;
  /** Set for a single delay, from `asyncEnd` on, if it was found. */
  id?: string;
}

/** One `schedule`, or one `scheduleMany`, which has `count` delays, no group and no headers. */
export interface DelayScheduleMessage extends DelayChangeMessage {
  group: string | null;
  /** As the caller gave them. */
  headers: DelayHeaders;
}

/** The method of `DelayAdmin`; `retryDead` is also one of `DelayService`. */
export type DelayAdminAction =
  | 'cancel'
  | 'reschedule'
  | 'runNow'
  | 'retryDead'
  | 'discardDead'
  | 'erase'
  | 'pause'
  | 'resume';

/** One change by `DelayAdmin`, or one `retryDead` of `DelayService`. */
export interface DelayAdminMessage extends DelayMessage {
  action: DelayAdminAction;
  /** The delays that the call lists; null: it has a filter. */
  targets: readonly DelayTarget[] | null;
  /** As the caller gave it; of a pause, its name and group. Null: a list, or an erase. */
  filter: DelayFilter | null;
  /** Who changes them, as the call said. */
  by: string | null;
  /** How many delays got each verdict, from `asyncEnd` on, if it did not fail; not of a pause. */
  verdicts?: Readonly<Record<string, number>>;
}

/** How an attempt ended: the event of the same name, or `exhausted`: `@OnDeadDelay` is called. */
export type AttemptEnd =
  | 'completed'
  | 'retrying'
  | 'split'
  | 'unreadable'
  | 'dead'
  | 'postponed'
  | 'released'
  | 'aborted'
  | 'superseded'
  | 'lost'
  | 'exhausted';

/**
 * One attempt of one delay. `start` comes at the call of its handler, which runs inside of it; `end`
 * when that has returned, perhaps a promise; `asyncEnd` when the outcome is written.
 */
export interface DelayAttemptMessage extends DelayMessage, AttemptEvent {
  /** How many delays the handler got in the same call. */
  batch: number;
  /** A call of `@OnDeadDelay`, which is no attempt of its delay. */
  onDead: boolean;
  /** The delay recurs: its headers are those of its first run. */
  recurring: boolean;
  /** From `asyncEnd` on. */
  outcome?: AttemptEnd | undefined;
  /** From `asyncEnd` on: how long the handler ran. */
  durationMs?: number | undefined;
}

/** One statement that claims rows. */
export interface DelayClaimMessage extends DelayMessage {
  /** Rows that it asks for. */
  count: number;
  /** Rows that it got, from `asyncEnd` on. */
  claimed?: number;
}

/** One load, or one scan: what it has read by its end. */
export interface DelayFetchMessage extends DelayMessage {
  count: number;
}

/** One batch of outcomes. A transactional handler's own transaction writes its outcome. */
export interface DelayCompleteMessage extends DelayMessage {
  /** Outcomes in the batch. */
  count: number;
  /** Rows that it wrote, from `asyncEnd` on. The others are locked, or have another epoch. */
  written?: number;
}

/** A recurring delay has left out instants: see `DelayEventMap.skipped`. */
export type DelaySkippedMessage = DelayMessage & SkippedEvent;

/** What happens on this process's nodes, by channel. */
export interface DelayChannelMap {
  schedule: DelayScheduleMessage;
  cancel: DelayChangeMessage;
  reschedule: DelayChangeMessage;
  admin: DelayAdminMessage;
  attempt: DelayAttemptMessage;
  claim: DelayClaimMessage;
  load: DelayFetchMessage;
  scan: DelayFetchMessage;
  complete: DelayCompleteMessage;
  skipped: DelaySkippedMessage;
}

export type DelayChannelName = keyof DelayChannelMap;

const STEPS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
/** A text: another copy of this package guards the same channels. */
const GUARDED = Symbol.for('nestjs-delay-queue:guarded');

type Subscriber = (message: unknown, name: string | symbol) => void;

/**
 * Has errors of subscribers reported as warnings. Node throws them in a tick of their own, as
 * uncaught exceptions, and ends the process. A subscription that was made before this package was
 * loaded stays as it is.
 */
function guard(channel: Channel): void {
  if (Object.hasOwn(channel, GUARDED)) return;
  const guards = new WeakMap<Subscriber, Subscriber>();
  const guardOf = (subscriber: Subscriber): Subscriber => {
    if (typeof subscriber !== 'function') return subscriber;
    let guarded = guards.get(subscriber);
    if (guarded === undefined) {
      guarded = guarding(subscriber, channel);
      // Node's first `subscribe` of a channel calls itself.
      guards.set(subscriber, guarded).set(guarded, guarded);
    }
    return guarded;
  };
  const methodOf = (name: 'subscribe' | 'unsubscribe') => (subscriber: Subscriber) => {
    // Read each time: a channel changes its prototype with its first subscriber and its last.
    const prototype = Object.getPrototypeOf(channel) as Pick<Channel, typeof name>;
    return Reflect.apply(prototype[name], channel, [guardOf(subscriber)]) as unknown;
  };
  for (const name of ['subscribe', 'unsubscribe'] as const) {
    Object.defineProperty(channel, name, { value: methodOf(name), configurable: true });
  }
  Object.defineProperty(channel, GUARDED, { value: true });
}

function guarding(subscriber: Subscriber, { name }: Channel): Subscriber {
  let isTold = false;
  return (message, channel) => {
    try {
      subscriber(message, channel);
    } catch (error) {
      if (isTold) return;
      isTold = true;
      warn(
        `a subscriber of ${String(name)} throws, and is ignored when it does: ${stringify(error)}`,
      );
    }
  };
}

/** What was thrown may throw when it is read. */
function stringify(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'an unreadable error';
  }
}

const warn = (message: string): void =>
  process.emitWarning(message, { type: 'DelayQueueWarning', code: 'DELAY_SUBSCRIBER_THROWS' });

function guardedChannel<Name extends DelayChannelName>(
  name: Name,
): DelayTracingChannel<DelayChannelMap[Name]> {
  const channel = tracingChannel<unknown, DelayChannelMap[Name]>(`nestjs-delay-queue:${name}`);
  for (const step of STEPS) guard(channel[step]);
  return channel as unknown as DelayTracingChannel<DelayChannelMap[Name]>;
}

/** One channel of a {@link DelayTracingChannel}. */
export interface DelayChannel<Message> {
  readonly hasSubscribers: boolean;
  subscribe(onMessage: (message: Message, name: string | symbol) => void): void;
  unsubscribe(onMessage: (message: Message, name: string | symbol) => void): void;
  publish(message: Message): void;
  /** The operation runs in a context of that store. */
  bindStore<Store>(store: AsyncLocalStorage<Store>, transform?: (message: Message) => Store): void;
  unbindStore<Store>(store: AsyncLocalStorage<Store>): void;
  runStores<Result>(message: Message, run: () => Result): Result;
}

/** What is called at each event of an operation. */
export interface DelaySubscribers<Message> {
  start(message: Message): void;
  end(message: Message): void;
  asyncStart(message: Message): void;
  asyncEnd(message: Message): void;
  error(message: Message): void;
}

/** A `TracingChannel` of `node:diagnostics_channel`, which types of older versions of Node lack. */
export interface DelayTracingChannel<Message> {
  readonly hasSubscribers: boolean;
  readonly start: DelayChannel<Message>;
  readonly end: DelayChannel<Message>;
  readonly asyncStart: DelayChannel<Message>;
  readonly asyncEnd: DelayChannel<Message>;
  readonly error: DelayChannel<Message>;
  subscribe(subscribers: DelaySubscribers<Message>): void;
  unsubscribe(subscribers: DelaySubscribers<Message>): void;
}

/**
 * The channels `tracing:nestjs-delay-queue:<name>:<event>`, typed.
 *
 * ```ts
 * delayChannels.attempt.subscribe({
 *   start() {}, end() {}, asyncStart() {}, error() {},
 *   asyncEnd: ({ name, outcome, durationMs }) => histogram.record(name, outcome, durationMs),
 * });
 * ```
 *
 * A subscriber runs at once, inside the engine: keep it short. What it throws is ignored, and reported
 * once as a warning of the process.
 */
export const delayChannels: {
  readonly [Name in DelayChannelName]: DelayTracingChannel<DelayChannelMap[Name]>;
} = {
  schedule: guardedChannel('schedule'),
  cancel: guardedChannel('cancel'),
  reschedule: guardedChannel('reschedule'),
  admin: guardedChannel('admin'),
  attempt: guardedChannel('attempt'),
  claim: guardedChannel('claim'),
  load: guardedChannel('load'),
  scan: guardedChannel('scan'),
  complete: guardedChannel('complete'),
  skipped: guardedChannel('skipped'),
};

/**
 * Runs an operation inside its channel. Call it only if the channel has subscribers. An operation that
 * reports its failure without rejecting sets `message.error`.
 * @internal
 */
export function traced<Message extends DelayMessage, Result>(
  channel: DelayTracingChannel<Message>,
  message: Message,
  run: () => Promise<Result>,
  answered?: (result: Result) => void,
): Promise<Result> {
  const toItsEnd = async (): Promise<Result> => {
    try {
      const result = await run();
      answered?.(result);
      return result;
    } catch (error) {
      message.error = error;
      throw error;
    } finally {
      publishEnd(channel, message);
    }
  };
  const result = channel.start.runStores(message, toItsEnd);
  channel.end.publish(message);
  return result;
}

/** @internal Publishes the end of an operation, with its error if it has one. */
export function publishEnd<Message extends DelayMessage>(
  channel: DelayTracingChannel<Message>,
  message: Message,
): void {
  if (message.error !== undefined) channel.error.publish(message);
  channel.asyncStart.publish(message);
  channel.asyncEnd.publish(message);
}

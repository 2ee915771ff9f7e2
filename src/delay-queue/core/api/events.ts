import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { ignoreRejection } from './adopted.js';
import type { DelayHeaders } from './delay.js';

/** Fields of all events about an attempt. Never the payload. */
export interface AttemptEvent {
  id: string;
  name: string;
  key: string | null;
  group: string | null;
  /** Headers of the delay, such as its trace context. Not logged. */
  headers: DelayHeaders;
  attempt: number;
  maxAttempts: number;
  /** Start of the attempt minus due, in milliseconds, on the database's clock. */
  latenessMs: number;
}

/** Further fields when an attempt has ended. */
export interface AttemptEndEvent extends AttemptEvent {
  /** From the handler's call to its end, or to its COMMIT if transactional, in milliseconds. */
  durationMs: number;
}

/** Further fields when an attempt has failed. */
export interface AttemptFailedEvent extends AttemptEndEvent {
  /** The row's text of the error: name, message and first cause, at most 4,096 bytes. */
  error: string;
  /**
   * What the handler threw; a `DelayTimeoutError` after a timeout. Not enumerable, so that logging
   * the event does not log it: it may hold private data, such as the parameters of a statement.
   */
  cause: unknown;
}

/** A delay became a dead letter. */
export interface DeadEvent
  extends
    Pick<AttemptEvent, 'id' | 'name' | 'key' | 'group' | 'headers' | 'attempt'>,
    Pick<AttemptFailedEvent, 'error'> {
  durationMs: number | null;
  cause: unknown;
}

/** Instants for which a recurring delay did not run, and will not: `count`, first and last. */
export type SkippedEvent = Pick<AttemptEvent, 'id' | 'name' | 'key' | 'group'> &
  Record<'from' | 'to', Date> & { count: number };

/** A write of this node, once its transaction has committed. */
export interface WrittenEvent extends Pick<AttemptEvent, 'id' | 'name' | 'key'> {
  /** The verdict that its call returned: `scheduled`, `replaced`, `cancelled` or another one. */
  verdict: string;
  /** Null: the delay no longer waits. */
  wakeAt: Date | null;
  /** False: a rollback to a savepoint may have undone it. */
  certain: boolean;
}

/** All events of this node, by name. Listeners receive one argument each. */
export interface DelayEventMap {
  /** A call has written a delay, and its transaction has committed. */
  written: [WrittenEvent];
  /** A handler was called. From now on the attempt counts. */
  started: [AttemptEvent];
  /** The attempt succeeded. The row is gone, or moves to its next instant. */
  completed: [AttemptEndEvent];
  /** The attempt failed. The next one starts after `waitMs`. */
  retrying: [AttemptFailedEvent & { waitMs: number }];
  /** The batch failed. The delay runs again at once, alone; no attempt is spent. */
  split: [AttemptFailedEvent];
  /**
   * This node cannot read the payload and passes the delay on to another node that serves the name.
   * No handler was called, and no attempt is spent. Typical in a rolling deploy: a newer version
   * wrote the payload.
   */
  unreadable: [AttemptFailedEvent];
  /**
   * The delay failed for good: attempts exhausted, or `DiscardDelay`. It stays as a dead letter, or
   * moves to its next instant if it recurs.
   *
   * If its process died, `durationMs` is null and `cause` undefined.
   */
  dead: [DeadEvent];
  /** The handler threw `PostponeDelay`. The delay runs again after `waitMs`; no attempt spent. */
  postponed: [AttemptEndEvent & { waitMs: number }];
  /** Given back unfinished: at shutdown, or because its batch was aborted. No attempt is spent. */
  released: [AttemptEvent];
  /** A cancel with `running: 'abort'` ended the attempt. No attempt is spent. */
  aborted: [AttemptEvent];
  /** The handler scheduled its own key. The row moved on. */
  superseded: [AttemptEndEvent];
  /** The lease was lost. The result of the handler was ignored. */
  lost: [AttemptEvent];
  /** The timeout has passed or the attempt is over, but its handler still runs; `overrunning` handlers of the name do so. */
  overrunning: [AttemptEvent & { overrunning: number }];
  /**
   * A recurring delay left out instants: no node was up, it was paused, or a run took too long, and
   * its `catchUp` is not `each`. Counted up to 1,000.
   */
  skipped: [SkippedEvent];
  /**
   * At start, this node removed a recurring delay whose `@RepeatDelay` is not in its code. It
   * returns when a node starts whose code has it.
   */
  withdrawn: [{ name: string; key: string; repeat: Readonly<Record<string, unknown>> }];
  /** A background task failed. It will be tried again. */
  taskFailed: [{ task: string; error: unknown }];
  /** A background task works again after a failure. */
  taskRecovered: [{ task: string }];
  /**
   * The database's clock was set by so many milliseconds, or another server with another clock took
   * over. Timers follow it.
   */
  clockJumped: [{ byMs: number }];
  /** The node is ready. With `worker: false` it only schedules; `run()` would serve `names`. */
  ready: [{ node: string; names: string[]; worker: boolean; listens: boolean }];
  /** The application is closing: nothing more is claimed, and `running` handlers are aborted. */
  closing: [{ node: string; running: number }];
  /** Nothing runs any more. */
  stopped: [{ node: string; unfinished: number }];
  /** A notice for operators, emitted once. `zone`: a time zone that this node and the database count differently. */
  advice: [{ message: string; zone?: string }];
}

/** Adds what the handler threw, readable but not enumerable: copies and logs leave it out. */
export const withCause = <Event extends object>(event: Event, cause: unknown) =>
  Object.defineProperty(event, 'cause', { value: cause }) as Event & { cause: unknown };

/** The typed part of Node's emitter, because older versions of `@types/node` are not generic. */
export interface DelayEmitter extends EventEmitter {
  on<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  once<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  off<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  addListener<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  prependListener<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  prependOnceListener<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  removeListener<K extends keyof DelayEventMap>(event: K, listener: DelayListener<K>): this;
  emit<K extends keyof DelayEventMap>(event: K, ...args: DelayEventMap[K]): boolean;
}

/** A listener of an event. Its result is not awaited. */
export type DelayListener<K extends keyof DelayEventMap> = (...args: DelayEventMap[K]) => void;

/**
 * Events of this node. Errors and rejections of a listener are ignored: they affect neither the
 * engine nor other listeners.
 *
 * ```ts
 * events.on('dead', ({ name, key, error }) => pager.send(`${name} ${key}: ${error}`));
 * ```
 */
@Injectable()
export class DelayEvents extends (EventEmitter as new () => DelayEmitter) {
  constructor() {
    super();
    this.setMaxListeners(0);
  }

  /** Whether an event has a listener. Without one, callers need not build the event. */
  isHeard(event: keyof DelayEventMap): boolean {
    return this.listenerCount(event) > 0;
  }

  override emit<K extends keyof DelayEventMap>(event: K, ...args: DelayEventMap[K]): boolean {
    if (!this.isHeard(event)) return false;
    for (const listener of this.rawListeners(event)) {
      try {
        ignoreRejection(Reflect.apply(listener, this, args));
      } catch {
        // Other listeners still receive the event.
      }
    }
    return true;
  }
}

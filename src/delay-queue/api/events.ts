import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { unheard } from './adopted.js';

/** What all events about one attempt say. Never the payload. */
export interface AttemptEvent {
  id: string;
  name: string;
  key: string | null;
  attempt: number;
  maxAttempts: number;
  /** Start of the attempt minus due, on the database's clock. */
  latenessMs: number;
}

/** What events about the end of an attempt say, too. */
export interface AttemptEndEvent extends AttemptEvent {
  /** From the call of its handler to its end, of a transactional one to its COMMIT, in milliseconds. */
  durationMs: number;
}

/** Of an attempt that failed. */
export interface AttemptFailedEvent extends AttemptEndEvent {
  /** What the row keeps: name, message and first cause, at most 4,096 bytes. */
  error: string;
  /**
   * What the handler threw, as it was thrown; of a timeout `DelayTimeoutError`. It may hold private data, such as
   * the parameters of a statement, so it is not enumerable: who logs the event does not log it.
   */
  cause: unknown;
}

/** A delay became a dead letter. */
export interface DeadEvent
  extends Pick<AttemptEvent, 'id' | 'name' | 'key' | 'attempt'>, Pick<AttemptFailedEvent, 'error'> {
  durationMs: number | null;
  cause: unknown;
}

/** Everything that happens on this node, by name. Listeners get one argument each. */
export interface DelayEventMap {
  /** A handler was called: from now on the attempt counts. */
  started: [AttemptEvent];
  /** It ended well, and the row is gone, or goes on to its next instant. */
  completed: [AttemptEndEvent];
  /** It failed; the next attempt comes after `waitMs`. */
  retrying: [AttemptFailedEvent & { waitMs: number }];
  /** Its batch failed: it runs again at once, alone, and no attempt is spent. */
  split: [AttemptFailedEvent];
  /**
   * This node cannot read its payload, and another one that serves the name may: given back for that one, no attempt spent.
   * In a rolling deploy the payload is that of a newer version, say. Its handler was not called.
   */
  unreadable: [AttemptFailedEvent];
  /**
   * It failed for good: attempts exhausted, or `DiscardDelay`. The row stays as a dead letter, or goes on when it recurs.
   *
   * `durationMs` is null and `cause` undefined where no handler ended: the last process died.
   */
  dead: [DeadEvent];
  /** `PostponeDelay`: again after `waitMs`, no attempt spent. */
  postponed: [AttemptEndEvent & { waitMs: number }];
  /** Given back unfinished at shutdown, or because another one of its batch was aborted; no attempt spent. */
  released: [AttemptEvent];
  /** Ended by a cancel with `running: 'abort'`; no attempt spent. */
  aborted: [AttemptEvent];
  /** The handler scheduled its own key: the row moved on. */
  superseded: [AttemptEndEvent];
  /** The lease was lost: whatever the handler did, the result was ignored. */
  lost: [AttemptEvent];
  /** An attempt is over but its handler still runs; `lingering` of its kind do. */
  lingering: [AttemptEvent & { lingering: number }];
  /**
   * At its start this node removed what recurred by a `@RepeatDelay`, since its own code does not declare it. It comes back
   * when a node starts whose code does.
   */
  withdrawn: [{ name: string; key: string; repeat: Readonly<Record<string, unknown>> }];
  /** A statement of the engine failed and will be tried again. */
  trouble: [{ during: string; error: unknown }];
  /** What failed before works again. */
  recovered: [{ during: string }];
  /** The node works, or only schedules: then `worker` is false, and `names` are those that `DelayWorker.run()` would serve. */
  ready: [{ node: string; names: string[]; worker: boolean; listens: boolean }];
  /** The application closes: nothing more is claimed, and handlers in flight, `running` of them, were told to give up. */
  closing: [{ node: string; running: number }];
  /** Nothing runs any more. */
  stopped: [{ node: string; unfinished: number }];
  /** Something an operator should know, once. */
  advice: [{ message: string }];
}

/** Adds what the handler threw: to be read, and not to be copied or written with the rest. */
export const withCause = <Event extends object>(event: Event, cause: unknown) =>
  Object.defineProperty(event, 'cause', { value: cause }) as Event & { cause: unknown };

/** What is typed of Node's emitter. Written out, because `@types/node` is generic only of late. */
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

/** What hears of an event; what it returns is not awaited. */
export type DelayListener<K extends keyof DelayEventMap> = (...args: DelayEventMap[K]) => void;

/**
 * What this node does, as events. What a listener throws, or rejects with, is ignored: watching disturbs neither
 * the engine nor who else listens.
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

  /** Whether there is a listener: without one, the event need not be put together. */
  isHeard(event: keyof DelayEventMap): boolean {
    return this.listenerCount(event) > 0;
  }

  override emit<K extends keyof DelayEventMap>(event: K, ...args: DelayEventMap[K]): boolean {
    if (!this.isHeard(event)) return false;
    for (const listener of this.rawListeners(event)) {
      try {
        unheard(Reflect.apply(listener, this, args));
      } catch {
        // The next one hears of it all the same.
      }
    }
    return true;
  }
}

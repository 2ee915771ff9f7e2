import { Injectable } from '@nestjs/common';
import type { AroundFunction, DeadDelayContext, DelayContext } from '../api/contexts.js';
import type { Delay } from '../api/delay.js';
import { DelayConfigError, DelayInvalidError } from '../api/errors.js';
import type { Duration } from '../api/times.js';
import type { BackoffPolicy } from '../config/backoff.js';
import { blamedOn } from '../config/blame.js';
import { checkInteger, parseDurationBetween } from '../config/durations.js';
import { checkKnownOptions } from '../config/known-options.js';
import type { PayloadReader } from '../config/payloads.js';
import type { Declaration } from './decorated-method.js';

/** What all nodes together may begin, of a name or of each of its groups. */
export interface LimitOptions {
  /** Attempts that run at a time, 1 to 10,000. */
  concurrency?: number;
  /** Attempts that begin within any time so long: up to 100,000 in 100 ms to a day. */
  rateLimit?: { max: number; per: Duration };
}

/** A limit as the claim knows it. */
export interface Limit {
  /** 0: any number. */
  concurrency: number;
  /** Attempts that may begin at once after a rest; 0: any number. */
  burst: number;
  /** How many more may begin with each millisecond. */
  refillPerMs: number;
}

export interface HandlerLimits {
  all: Limit;
  perGroup: Limit;
}

const CONCURRENCY_MAX = 10_000;
const RATE_MAX = 100_000;

/** The part of a rate that may begin together: one by one, each would be a claim of its own. */
const BURST_PART = 25;

const NO_LIMIT: Limit = { concurrency: 0, burst: 0, refillPerMs: 0 };

/**
 * @returns null when there is none
 * @throws DelayInvalidError naming the option
 */
export function limitsOf(all: unknown, perGroup: unknown): HandlerLimits | null {
  if (all === undefined && perGroup === undefined) return null;
  return { all: limitOf(all, 'global'), perGroup: limitOf(perGroup, 'perGroup') };
}

function limitOf(value: unknown, option: string): Limit {
  if (value === undefined) return NO_LIMIT;
  const { concurrency, rateLimit } = checkKnownOptions(value, option, ['concurrency', 'rateLimit']);
  if (concurrency === undefined && rateLimit === undefined) {
    throw new DelayInvalidError(option, 'say which limit: concurrency, rateLimit, or both');
  }
  return blamedOn(option, () => ({
    concurrency:
      concurrency === undefined ? 0 : checkInteger(concurrency, 'concurrency', 1, CONCURRENCY_MAX),
    ...(rateLimit === undefined ? { burst: 0, refillPerMs: 0 } : bucketOf(rateLimit)),
  }));
}

/**
 * A bucket of `burst` that is refilled: within any time `per` no more can begin than it holds and gets, and that is
 * `max`. A full bucket therefore slows the refill by as much, a 25th.
 */
function bucketOf(value: unknown): Pick<Limit, 'burst' | 'refillPerMs'> {
  const given = checkKnownOptions(value, 'rateLimit', ['max', 'per']);
  return blamedOn('rateLimit', () => {
    const max = checkInteger(given['max'], 'max', 1, RATE_MAX);
    const perMs = parseDurationBetween(given['per'], 'per', '100ms', '1d');
    const burst = Math.floor(max / BURST_PART);
    // One by one they are `per / max` apart, and the next one after `max` of them begins when `per` is over.
    if (burst <= 1) return { burst: 1, refillPerMs: max / perMs };
    return { burst, refillPerMs: (max - burst) / perMs };
  });
}

/** A method with `@OnDelay`, ready to run, with the module's defaults filled in. */
export interface Handler {
  readonly name: string;
  readonly transactional: boolean;
  /** Calls at a time on this node. */
  readonly concurrency: number;
  /** Of all nodes together; null: none. */
  readonly limits: HandlerLimits | null;
  /** Delays of one call, at most; null: the method takes a single delay. */
  readonly batch: number | null;
  readonly timeoutMs: number;
  /** How long a claim of this name holds; the claim of a transactional handler covers the whole timeout. */
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** How long to wait after a failed attempt, counted from 1. */
  readonly backoffMs: BackoffPolicy;
  /** What surrounds each call: the first outside. */
  readonly around: readonly AroundFunction[];
  /** The method with `@OnDeadDelay` of that name, if there is one. */
  readonly onDead?: DeadHandler;
  /** Undefined when the handler gets what is stored. */
  readonly readPayload: PayloadReader | undefined;
  /** For messages: `OrderTimers.close (OrdersModule)`. */
  readonly place: string;
  /**
   * Runs the method. Throws or rejects with the method's own error.
   *
   * @param work a list for a batch handler
   * @param ctx with `manager` when the handler is transactional, with `fail` and `postpone` for a
   * batch handler
   * @returns the method's answer: a promise, or nothing
   */
  invoke(work: Delay | Delay[], ctx: DelayContext): unknown;
}

/** A method with `@OnDeadDelay`. */
export interface DeadHandler {
  /** For messages. */
  readonly place: string;
  readonly readPayload: PayloadReader | undefined;
  invoke(delay: Delay, ctx: DeadDelayContext): unknown;
}

/** Delays that recur, of one application. */
const DECLARATIONS_MAX = 1_000;

/** The handlers of this node, one for each name, and the delays that recur. Filled at start, then only read. */
@Injectable()
export class HandlerRegistry {
  private readonly handlers = new Map<string, Handler>();
  private readonly declared = new Map<string, { declaration: Declaration; place: string }>();

  /** @throws DelayConfigError naming both places, when the name has a handler already */
  add(handler: Handler): void {
    const other = this.handlers.get(handler.name);
    if (other !== undefined) {
      throw new DelayConfigError(
        `two handlers for the delay ${handler.name}: ${other.place} and ${handler.place}`,
      );
    }
    this.handlers.set(handler.name, handler);
  }

  /**
   * To be called when all handlers are there.
   * @throws DelayConfigError for a name without a handler here, and for a second one of a name
   */
  addOnDead(name: string, onDead: DeadHandler): void {
    const handler = this.handlers.get(name);
    if (handler === undefined) {
      throw new DelayConfigError(
        `${onDead.place}: @OnDeadDelay is for ${name}, which has no @OnDelay in this application`,
      );
    }
    if (handler.onDead !== undefined) {
      throw new DelayConfigError(
        `two methods with @OnDeadDelay for ${name}: ${handler.onDead.place} and ${onDead.place}`,
      );
    }
    this.handlers.set(name, { ...handler, onDead });
  }

  /**
   * Declares a delay that recurs.
   * @throws DelayConfigError naming both places, when its name has one of that key already
   */
  declare(declaration: Declaration, place: string): void {
    const { name, key } = declaration;
    const other = this.declared.get(`${name} ${key}`);
    if (other !== undefined) {
      throw new DelayConfigError(
        `two @RepeatDelay of ${name} with the key ${key}: ${other.place} and ${place}; give each its own key`,
      );
    }
    if (this.declared.size === DECLARATIONS_MAX) {
      throw new DelayConfigError(`${place}: there are more than ${DECLARATIONS_MAX} @RepeatDelay`);
    }
    this.declared.set(`${name} ${key}`, { declaration, place });
  }

  get(name: string): Handler | undefined {
    return this.handlers.get(name);
  }

  names(): string[] {
    return [...this.handlers.keys()];
  }

  /** Names whose groups have limits: all delays of such a group belong to one node, which knows what it runs of it. */
  limitedByGroup(): Set<string> {
    return new Set(
      this.all()
        .filter(hasGroupLimit)
        .map(({ name }) => name),
    );
  }

  /** Delays of one call, at most: a claim takes at least so many. */
  get batchMax(): number {
    return Math.max(1, ...this.all().map(({ batch }) => batch ?? 1));
  }

  declarations(): Declaration[] {
    return [...this.declared.values()].map(({ declaration }) => declaration);
  }

  all(): Handler[] {
    return [...this.handlers.values()];
  }
}

const hasGroupLimit = ({ limits }: Handler): boolean =>
  limits !== null && (limits.perGroup.concurrency > 0 || limits.perGroup.burst > 0);

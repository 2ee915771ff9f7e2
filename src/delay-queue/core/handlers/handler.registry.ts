import { Injectable } from '@nestjs/common';
import type { AroundFunction, Delay, DelayContext } from '../api/delay.js';
import { DelayConfigError } from '../api/errors.js';
import type { BackoffPolicy } from '../config/backoff.js';
import { parseByTable } from '../config/known-options.js';
import type { PayloadReader, Payloads } from '../config/payloads.js';
import { decoded } from '../config/payload-codec.js';
import { asGiven, checkKey, checkName } from '../config/checks.js';
import { RULE, toRule } from '../config/repeat.js';
import type { Rule } from '../recurrence/recurrence.js';
import type { HandlerLimits } from './handler-limits.js';

/**
 * A prefetched call that waits longer is given back: its handlers have become slower. It is looked
 * for as often, so none waits twice as long.
 */
export const WAITS_MAX_MS = 250;

/** A method with `@OnDelay`, ready to run, with the module's defaults. */
export interface Handler {
  readonly name: string;
  /** The queue that it serves: its options, by identity. */
  readonly queue: object;
  readonly transactional: boolean;
  /** `transactional: 'own'`: the handler removes the delay in a transaction of its own. */
  readonly own: boolean;
  /** Calls at a time on this node. */
  readonly concurrency: number;
  /** Limits over all nodes; null: none. */
  readonly limits: HandlerLimits | null;
  /** Most delays per call; null: the method takes a single delay. */
  readonly batch: number | null;
  readonly timeoutMs: number;
  /** Lease of a claim of this name. For a transactional handler it covers the wait for a slot and its timeout. */
  readonly leaseMs: number;
  readonly maxAttempts: number;
  /** Pause after a failed attempt, counted from 1. */
  readonly backoffMs: BackoffPolicy;
  /** Middleware of each call, outermost first. */
  readonly around: readonly AroundFunction[];
  /** The method with `@OnDeadDelay` of that name, if any, as a transactional handler. */
  readonly onDead?: Handler;
  /** Undefined if the handler receives what is stored. */
  readonly readPayload: PayloadReader | undefined;
  /** For messages: `OrderTimers.close (OrdersModule)`. */
  readonly location: string;
  /**
   * Runs the method, and returns what it returns.
   * @param work a list for a batch handler
   * @param ctx has `manager` for a transactional handler, `fail` and `postpone` for a batch handler
   */
  invoke(work: Delay | Delay[], ctx: DelayContext): unknown;
}

/** Most `@RepeatDelay` of one application. */
const DECLARATIONS_MAX = 1_000;

/**
 * Handlers of this node, one per name, and recurring delays. Filled at start, then read-only. A
 * DelayConfigError names both places of what is there twice.
 */
@Injectable()
export class HandlerRegistry {
  private readonly handlers = new Map<string, Handler>();
  private readonly declared = new Map<string, { declaration: Declaration; location: string }>();

  add(handler: Handler): void {
    const other = this.handlers.get(handler.name);
    if (other !== undefined) {
      throw new DelayConfigError(
        `two handlers for the delay ${handler.name}: ${other.location} and ${handler.location}`,
      );
    }
    this.handlers.set(handler.name, handler);
  }

  /** Call it when all handlers are added. */
  addOnDead(name: string, onDead: Pick<Handler, 'location' | 'readPayload' | 'invoke'>): void {
    const handler = this.handlers.get(name);
    if (handler === undefined) {
      throw new DelayConfigError(
        `${onDead.location}: @OnDeadDelay is for ${name}, which has no @OnDelay in this application`,
      );
    }
    if (handler.onDead !== undefined) {
      throw new DelayConfigError(
        `two methods with @OnDeadDelay for ${name}: ${handler.onDead.location} and ${onDead.location}`,
      );
    }
    const { leaseMs, timeoutMs } = handler;
    this.handlers.set(name, {
      ...handler,
      onDead: {
        ...handler,
        // Read like any payload, because what no node can decode is left out.
        ...onDead,
        readPayload: onDead.readPayload ?? ((text, owner) => decoded(undefined, text, owner)),
        batch: null,
        transactional: true,
        own: false,
        // Its lease is not renewed.
        leaseMs: Math.max(leaseMs, timeoutMs),
      },
    });
  }

  declare(declaration: Declaration, location: string): void {
    const { name, key } = declaration;
    const other = this.declared.get(`${name} ${key}`);
    if (other !== undefined) {
      throw new DelayConfigError(
        `two @RepeatDelay of ${name} with the key ${key}: ${other.location} and ${location}; give each its own key`,
      );
    }
    if (this.declared.size === DECLARATIONS_MAX) {
      throw new DelayConfigError(
        `${location}: there are more than ${DECLARATIONS_MAX} @RepeatDelay`,
      );
    }
    this.declared.set(`${name} ${key}`, { declaration, location });
  }

  get(name: string): Handler | undefined {
    return this.handlers.get(name);
  }

  names(): string[] {
    return [...this.handlers.keys()];
  }

  /** Names with limits per group. One node owns all delays of such a group, and so knows what runs. */
  limitedByGroup(): Set<string> {
    const limited = this.all().filter(hasGroupLimit);
    return new Set(limited.map(({ name }) => name));
  }

  /** Most delays per call: a claim takes at least that many. */
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

/** A recurring delay, as the code declares it. */
export interface Declaration {
  name: string;
  key: string;
  /** JSON text, as stored. */
  payload: string;
  repeat: Rule;
}

const DECLARATION = {
  ...RULE,
  key: [checkKey, 'repeat'],
  payload: [asGiven, null],
} as const;

/** @returns a promise only if a schema or the codec returns one */
export function parseDeclaration(
  name: unknown,
  options: unknown,
  payloads: Payloads,
): Declaration | Promise<Declaration> {
  const { key, payload, ...rule } = parseByTable(options, 'options', DECLARATION);
  const owner = { name: checkName(name), key };
  const json = payloads.jsonOf(payload);
  const repeat = toRule(rule);
  const stored = payloads.stored(json, owner);
  if (!(stored instanceof Promise)) return { ...owner, payload: stored, repeat };
  return stored.then((text) => ({ ...owner, payload: text, repeat }));
}

import { Injectable } from '@nestjs/common';
import { DelayConfigError } from '../delay/delay.errors.js';
import type { DeadHandler, Handler } from './handler.js';
import type { Declaration } from './declaration.js';

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

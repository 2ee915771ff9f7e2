import { Injectable } from '@nestjs/common';
import { DelayConfigError } from '../delay/delay.errors.js';
import type { Handler } from './handler.js';

/** The handlers of this node, one for each name. Filled at start, then only read. */
@Injectable()
export class HandlerRegistry {
  private readonly handlers = new Map<string, Handler>();

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

  get(name: string): Handler | undefined {
    return this.handlers.get(name);
  }

  names(): string[] {
    return [...this.handlers.keys()];
  }

  all(): Handler[] {
    return [...this.handlers.values()];
  }
}

import { inOwnScope } from './own-scope.js';

/** Does its work on request, once for all requests of a turn of the event loop. */
export class Trigger {
  #turn: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(private readonly work: () => void) {}

  trigger(): void {
    if (this.#stopped || this.#pause) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      inOwnScope(this.work);
    });
  }

  /** Triggers after that time; replaces an earlier call. Infinity: not at all. */
  triggerIn(ms: number): void {
    clearTimeout(this.#later);
    if (this.#stopped || ms === Infinity) return;
    this.#later = setTimeout(() => this.trigger(), ms);
  }

  /** Ignores triggers for that time, then triggers. */
  pauseFor(ms: number): void {
    if (this.#stopped) return;
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.trigger();
    }, ms);
  }

  /** Ends a pause, and triggers if there was one. */
  resume(): void {
    if (this.#pause === undefined) return;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.trigger();
  }

  stop(): void {
    this.#stopped = true;
    clearImmediate(this.#turn);
    clearTimeout(this.#later);
    clearTimeout(this.#pause);
  }
}

/**
 * Work on request: done at once, but not again before its pause is over. Any login that can connect
 * to the database can request it by a hint, so its cost must not depend on how often.
 */
export class Paced {
  #timer: NodeJS.Timeout | undefined;
  #lastAtMs = -Infinity;
  #stopped = false;

  constructor(
    private readonly work: () => void,
    private readonly minEveryMs: number,
  ) {}

  /** Works now, or, once for all requests meanwhile, when the pause is over. */
  ask(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    const leftMs = this.#lastAtMs + this.minEveryMs - performance.now();
    if (leftMs <= 0) this.#work();
    else this.#timer = setTimeout(() => this.#work(), leftMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #work(): void {
    this.#timer = undefined;
    this.#lastAtMs = performance.now();
    this.work();
  }
}

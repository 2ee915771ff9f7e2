/** Does its work when it is asked for, once for all calls of a turn of the event loop. */
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
      this.work();
    });
  }

  /** Triggers itself after that time, in place of what was said before. Infinity: not at all. */
  triggerIn(ms: number): void {
    clearTimeout(this.#later);
    if (this.#stopped || ms === Infinity) return;
    this.#later = setTimeout(() => this.trigger(), ms);
  }

  /** Ignores calls for that time, and triggers itself then. */
  pauseFor(ms: number): void {
    if (this.#stopped) return;
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.trigger();
    }, ms);
  }

  /** Listens again, and triggers itself, if it pauses. */
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

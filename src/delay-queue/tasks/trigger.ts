/** Does its work when somebody asks for it, once for all who ask in a turn of the event loop. */
export class Pump {
  #turn: NodeJS.Immediate | undefined;
  #alarm: NodeJS.Timeout | undefined;
  #rest: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(private readonly work: () => void) {}

  kick(): void {
    if (this.#stopped || this.#rest) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.work();
    });
  }

  /** Kicks itself after that time, in place of what was said before. Infinity: not at all. */
  kickIn(ms: number): void {
    clearTimeout(this.#alarm);
    if (this.#stopped || ms === Infinity) return;
    this.#alarm = setTimeout(() => this.kick(), ms);
  }

  /** Listens to nobody for that time, and kicks itself then. */
  restFor(ms: number): void {
    if (this.#stopped) return;
    this.#rest ??= setTimeout(() => {
      this.#rest = undefined;
      this.kick();
    }, ms);
  }

  stop(): void {
    this.#stopped = true;
    clearImmediate(this.#turn);
    clearTimeout(this.#alarm);
    clearTimeout(this.#rest);
  }
}

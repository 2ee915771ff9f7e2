type Close = () => Promise<unknown>;

/** Closes everything that was opened, in reverse order, however the race ends. */
export class ClosingTime {
  readonly #open: Close[] = [];
  #closing: Promise<void> | undefined;

  /** @returns what was opened */
  add<Opened>(opened: Opened, close: (opened: Opened) => Promise<unknown>): Opened {
    this.#open.push(() => close(opened));
    return opened;
  }

  get hasBegun(): boolean {
    return this.#closing !== undefined;
  }

  /** An error while closing does not keep the rest open. */
  closeAll(): Promise<void> {
    return (this.#closing ??= this.#closeAll());
  }

  async #closeAll(): Promise<void> {
    for (let close = this.#open.pop(); close; close = this.#open.pop()) {
      await close().catch((error: unknown) => console.error(`while closing: ${String(error)}`));
    }
  }
}

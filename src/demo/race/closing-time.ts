type Close = () => Promise<unknown>;

/** What has been opened, closed in reverse however the race ends. */
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

  /** What cannot be closed does not keep the others open. */
  closeAll(): Promise<void> {
    return (this.#closing ??= this.#closeAll());
  }

  async #closeAll(): Promise<void> {
    for (let close = this.#open.pop(); close; close = this.#open.pop()) {
      await close().catch((error: unknown) => console.error(`while closing: ${String(error)}`));
    }
  }
}

import type { OperationLine } from './contract.js';

/** Tells the live streams of this process how its operations go on. */
export class OperationNews {
  readonly #listeners = new Set<(line: OperationLine) => void>();

  /** @returns a function that ends it */
  on(listener: (line: OperationLine) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  emit(line: OperationLine): void {
    for (const listener of this.#listeners) listener(line);
  }
}

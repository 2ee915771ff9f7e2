import type { Answer } from './client.js';

/** How the shop answered one kind of request. */
export class Answers {
  readonly tookMs: number[] = [];
  readonly #unexpected = new Map<string, number>();

  /** @returns whether it was the expected one */
  note({ status, body, tookMs }: Answer, expected: number): boolean {
    this.tookMs.push(tookMs);
    if (status === expected) return true;
    const what = status === 0 ? body : String(status);
    this.#unexpected.set(what, (this.#unexpected.get(what) ?? 0) + 1);
    return false;
  }

  /** What came before was a warm-up. */
  forget(): void {
    this.tookMs.length = 0;
    this.#unexpected.clear();
  }

  get unexpectedCount(): number {
    return [...this.#unexpected.values()].reduce((sum, count) => sum + count, 0);
  }

  /** `2 × 503`; nothing when all were as they should be. */
  get unexpected(): string {
    return [...this.#unexpected].map(([what, count]) => `${count} × ${what}`).join(', ');
  }
}

export const shownUnexpected = (answers: readonly Answers[]): string =>
  answers
    .map(({ unexpected }) => unexpected)
    .filter((text) => text !== '')
    .join('; ') || 'none';

export function shownBroken(measurements: readonly { broken: readonly string[] }[]): string {
  const broken = new Set(measurements.flatMap((each) => each.broken));
  return broken.size === 0 ? 'hold' : [...broken].join('; ');
}

import type { Entry } from '../../intake/entry.js';
import { StatementSize } from '../../store/statement-size.js';

/** Of its lease, a claim that takes longer is too large: what it brings has to run within the rest. */
const LEASE_SHARE = 1 / 6;

/** A statement is slow from then on, however long the leases are. */
const SLOW_MS_MAX = 5_000;

interface NameSize {
  size: StatementSize;
  /** It was in a claim that failed, perhaps because of another name. */
  hasFailed: boolean;
}

/**
 * How many of a name one claim asks for. A name whose claims failed, or were slow, is claimed by itself and in smaller
 * numbers, so that its large payloads, or the slow trigger of its rows, shrink no other name's claims. One such claim is on its
 * way at a time: the other place is for names that are well.
 *
 * What failed together is halved until one delay stands alone: whichever half is well runs.
 */
export class ClaimSizes {
  readonly #names = new Map<string, NameSize>();
  #isApartOnItsWay = false;

  /** @param max of one claim, at most */
  constructor(
    private readonly max: number,
    private readonly leaseMsOf: (name: string) => number,
  ) {}

  /** Whether that entry is claimed with others of its name alone. */
  isApart({ name, claimedWithin }: Entry): boolean {
    return claimedWithin !== undefined || this.#names.has(name);
  }

  /** Whether a claim of a name by itself may begin now. */
  get mayClaimApart(): boolean {
    return !this.#isApartOnItsWay;
  }

  /** How many one claim may ask for that asks for this entry. */
  mostWith({ name, claimedWithin = Infinity }: Entry): number {
    return Math.min(this.#names.get(name)?.size.now ?? this.max, claimedWithin);
  }

  /** A claim of these is about to be sent. @returns to be called when it has ended */
  begin(entries: readonly Entry[]): () => void {
    const [first] = entries;
    if (first === undefined || !this.isApart(first)) return () => {};
    this.#isApartOnItsWay = true;
    return () => {
      this.#isApartOnItsWay = false;
    };
  }

  worked(entries: readonly Entry[], tookMs: number): void {
    const names = namesOf(entries);
    const slowMs = Math.min(...[...names].map((name) => this.#slowMs(name)));
    if (tookMs > slowMs) return this.failed(entries);
    for (const entry of entries) entry.claimedWithin = undefined;
    const [name, ...others] = names;
    const known = name !== undefined && others.length === 0 && this.#names.get(name);
    if (!known) return;
    known.hasFailed = false;
    known.size.worked(entries.length, tookMs);
    if (known.size.isWhole) this.#names.delete(name);
  }

  /** Too much for one claim, or one of them is refused. */
  failed(entries: readonly Entry[]): void {
    const half = Math.max(1, Math.floor(entries.length / 2));
    for (const entry of entries) entry.claimedWithin = half;
    const names = namesOf(entries);
    for (const name of names) {
      const { size } = this.#watched(name);
      if (names.size === 1) size.failed(entries.length);
    }
  }

  #watched(name: string): NameSize {
    let known = this.#names.get(name);
    if (known === undefined) {
      known = { size: new StatementSize(this.max, this.#slowMs(name)), hasFailed: true };
      this.#names.set(name, known);
    }
    known.hasFailed = true;
    return known;
  }

  #slowMs(name: string): number {
    return Math.min(SLOW_MS_MAX, this.leaseMsOf(name) * LEASE_SHARE);
  }
}

const namesOf = (entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(entries.map(({ name }) => name));

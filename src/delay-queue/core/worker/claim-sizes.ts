import { StatementSize } from '../store/statement-size.js';
import type { Job } from './job.js';
import type { NameStates, NameState } from './name-state.js';

/** A claim that takes more than this share of a lease is too large: its delays run in the rest. */
const LEASE_SHARE = 1 / 6;

/** A claim that takes longer is slow, however long the leases are. */
const SLOW_MS_MAX = 5_000;

/**
 * How many delays of a name one claim asks for. A name whose claims failed or were slow is claimed
 * apart and in smaller numbers, so that its large payloads or slow triggers shrink no other name's
 * claims. One such claim is on its way at a time; the other slot is for healthy names.
 *
 * A claim that failed is halved until one delay stands alone, so that its healthy part runs.
 */
export class ClaimSizes {
  #isApartInFlight = false;

  /** @param max largest claim */
  constructor(
    private readonly max: number,
    private readonly names: Pick<NameStates, 'of'>,
  ) {}

  /** Whether a claim of a single name may begin now. */
  get mayClaimApart(): boolean {
    return !this.#isApartInFlight;
  }

  /** A claim of these is about to be sent. @returns a function to call when it has ended */
  begin(entries: readonly Job[]): () => void {
    const [first] = entries;
    if (first === undefined || !isClaimedApart(first, this.names.of(first.name))) return () => {};
    this.#isApartInFlight = true;
    return () => {
      this.#isApartInFlight = false;
    };
  }

  worked(entries: readonly Job[], tookMs: number): void {
    const names = this.#namesOf(entries);
    if (tookMs > Math.min(...names.map(slowMs))) return this.failed(entries);
    for (const entry of entries) entry.claimedWithin = undefined;
    const [only, ...others] = names;
    if (only?.claimSize === undefined || others.length > 0) return;
    only.claimSize.worked(entries.length, tookMs);
    if (only.claimSize.isWhole) only.claimSize = undefined;
  }

  /** The claim was too large, or one of its delays was refused. */
  failed(entries: readonly Job[]): void {
    const half = Math.max(1, Math.floor(entries.length / 2));
    for (const entry of entries) entry.claimedWithin = half;
    const names = this.#namesOf(entries);
    for (const name of names) {
      name.claimSize ??= new StatementSize(this.max, slowMs(name));
      if (names.length === 1) name.claimSize.failed(entries.length);
    }
  }

  #namesOf(entries: readonly Job[]): NameState[] {
    return [...new Set(entries.map(({ name }) => name))].map((name) => this.names.of(name));
  }
}

/** Whether a claim of it asks for no other name: one of its claims has failed, or was slow. */
export const isClaimedApart = ({ claimedWithin }: Job, { claimSize }: NameState): boolean =>
  claimedWithin !== undefined || claimSize !== undefined;

const slowMs = ({ handler }: NameState): number =>
  Math.min(SLOW_MS_MAX, handler.leaseMs * LEASE_SHARE);

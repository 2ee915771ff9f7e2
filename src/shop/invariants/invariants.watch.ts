import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { pauseAfter, type Pace } from '../pace.js';
import type { Invariants } from './invariants.schemas.js';
import { InvariantsService } from './invariants.service.js';

/**
 * The checks read whole tables, and take longer the more there is. They get a fiftieth of one
 * connection's time: after a check of one second, the next begins 49 seconds later.
 */
const PACE: Pace = { share: 1 / 50, leastPauseMs: 2_000, mostPauseMs: 600_000 };

export interface Checked extends Invariants {
  checkedAt: string;
}

/** Checks repeatedly in the background; readers of the result never wait. */
@Injectable()
export class InvariantsWatch implements OnModuleDestroy {
  #latest: Checked | null = null;
  #running: Promise<void> | undefined;
  #nextFromMs = 0;
  #stopping = false;

  constructor(private readonly invariants: InvariantsService) {}

  /** The latest result; `null` before the first check is done. */
  get latest(): Checked | null {
    return this.#latest;
  }

  /** Begins a check if one is due. @param now by the database's clock */
  keepUp(now: Date): void {
    if (this.#stopping || this.#running || performance.now() < this.#nextFromMs) return;
    this.#running = this.#check(now).finally(() => (this.#running = undefined));
  }

  async onModuleDestroy(): Promise<void> {
    this.#stopping = true;
    await this.#running;
  }

  async #check(now: Date): Promise<void> {
    const begunMs = performance.now();
    let tookMs = 0;
    try {
      this.#latest = { ...(await this.invariants.check()), checkedAt: now.toISOString() };
      tookMs = performance.now() - begunMs;
    } catch {
      // The database is away, which others report. The page shows how old the last check is.
    }
    this.#nextFromMs = performance.now() + pauseAfter(tookMs, PACE);
  }
}

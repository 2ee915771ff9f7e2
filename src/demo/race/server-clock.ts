import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';

const READINGS = 20;
/** The last part of a wait: its instant is not read again. */
const LOOK_EVERY_MS = 20;

/** Estimate of the database's clock, by which deadlines are judged. */
export class ServerClock {
  private constructor(private readonly aheadMs: number) {}

  /** Of several readings, takes the one with the shortest round trip: its error is the smallest. */
  static async read(client: Client): Promise<ServerClock> {
    let best = { tripMs: Infinity, aheadMs: 0 };
    for (let reading = 0; reading < READINGS; reading += 1) {
      const sentMs = performance.now();
      const { rows } = await client.query<{ now: number }>(
        `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`,
      );
      const tripMs = performance.now() - sentMs;
      if (tripMs < best.tripMs) best = { tripMs, aheadMs: rows[0]!.now - (sentMs + tripMs / 2) };
    }
    return new ServerClock(best.aheadMs);
  }

  get nowMs(): number {
    return performance.now() + this.aheadMs;
  }

  /** Resolves at that instant, which may move while it is far; at once when it has passed. */
  async reaches(instantMs: () => number): Promise<void> {
    for (let leftMs = instantMs() - this.nowMs; leftMs > 0; leftMs = instantMs() - this.nowMs) {
      await pause(leftMs > 2 * LOOK_EVERY_MS ? leftMs - LOOK_EVERY_MS : leftMs);
    }
  }
}

import { numberOf, withClient } from '../server/bench-server.js';

/** Out of so many the quickest answer counts: it says most precisely what time it was. */
const SAMPLES = 50;

const NOW_MS = 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000';

/**
 * The database's clock as seen from this process, the same measure for every system: none of them
 * is asked how punctual it was.
 */
export class Yardstick {
  private constructor(
    private readonly offsetMs: number,
    /** The true offset lies within this much of the one assumed. */
    readonly uncertaintyMs: number,
  ) {}

  static measure(url: string): Promise<Yardstick> {
    return withClient(url, async (client) => {
      let best = { roundTripMs: Infinity, offsetMs: 0 };
      for (let sample = 0; sample < SAMPLES; sample += 1) {
        const askedAtMs = performance.now();
        const nowMs = await numberOf(client, NOW_MS);
        const answeredAtMs = performance.now();
        const roundTripMs = answeredAtMs - askedAtMs;
        if (roundTripMs >= best.roundTripMs) continue;
        best = { roundTripMs, offsetMs: nowMs - (askedAtMs + answeredAtMs) / 2 };
      }
      return new Yardstick(best.offsetMs, best.roundTripMs / 2);
    });
  }

  /** Milliseconds since 1970 on the database's clock. */
  nowMs(): number {
    return performance.now() + this.offsetMs;
  }
}

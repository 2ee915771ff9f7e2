import { percentile } from '../../bench/report/statistics.js';
import type { Crew } from './nodes/crew.js';
import type { ChaosServer } from './world.js';

const EVERY_MS = 5_000;

const WAITING = `SELECT count(*)::int AS waiting FROM delay_queue.delay WHERE wake_at < 'infinity'`;

/** Says every few seconds how far the run is. */
export class Progress {
  readonly #latenessMs: number[] = [];
  #beganAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #scheduled = 0;
  #ended = 0;
  #faults = 0;
  #looking = false;

  constructor(
    private readonly crew: Crew,
    private readonly server: ChaosServer,
    private readonly log: (line: string) => void,
  ) {}

  begin(): void {
    this.#beganAtMs = performance.now();
    this.#timer = setInterval(() => void this.#look(), EVERY_MS);
  }

  fault(): void {
    this.#faults += 1;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const [row] = await this.server.sql<{ waiting: number }>(WAITING);
      this.#count();
      this.log(this.#line(row?.waiting ?? 0));
    } catch {
      // The server is away for longer than anybody waits; the next look tells.
    } finally {
      this.#looking = false;
    }
  }

  #count(): void {
    for (const { scheduled, ended, latenessMs } of this.crew.counts()) {
      this.#scheduled += scheduled;
      this.#ended += ended;
      this.#latenessMs.push(...latenessMs);
    }
  }

  #line(waiting: number): string {
    const seconds = Math.round((performance.now() - this.#beganAtMs) / 1_000);
    const lateMs = this.#latenessMs.length === 0 ? 0 : percentile(this.#latenessMs, 0.99);
    return (
      `${String(seconds).padStart(5)} s  ${this.#scheduled} scheduled, ${this.#ended} ended, ` +
      `${waiting} wait, ${this.#faults} faults, p99 ${Math.round(lateMs)} ms late so far`
    );
  }
}

import { readFileSync, writeFileSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { type CpuTime, cpuSecondsOf, ownCpuTime } from '../server/process-cpu.js';
import type { WorkerReport } from './protocol.js';
import { roundTrips } from './round-trips.js';

export type ProcessUsage = Pick<
  WorkerReport,
  'cpu' | 'cpuSeconds' | 'roundTrips' | 'longestBlockMs' | 'memoryBytes'
>;

/** The finest that there is; it adds itself to what it measures. */
const RESOLUTION_MS = 1;

const KIBIBYTE = 1_024;

/** What this process uses from its making on. */
export class UsageWatch {
  readonly #cpuAtStart: CpuTime = ownCpuTime();
  readonly #roundTripsAtStart = roundTrips();
  readonly #loop: IntervalHistogram | undefined;

  constructor(watchesLoop: boolean) {
    forgetHighWater();
    if (!watchesLoop) return;
    this.#loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#loop.enable();
  }

  taken(): ProcessUsage {
    const cpu = ownCpuTime(this.#cpuAtStart);
    this.#loop?.disable();
    return {
      cpu,
      cpuSeconds: cpuSecondsOf(cpu),
      roundTrips: roundTrips() - this.#roundTripsAtStart,
      longestBlockMs: this.#loop ? Math.max(0, this.#loop.max / 1e6 - RESOLUTION_MS) : Number.NaN,
      memoryBytes: highWaterBytes(),
    };
  }
}

/** What compiling the sources took is not the worker's; Linux alone can forget it. */
function forgetHighWater(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // The high water then is that of the whole life of the process.
  }
}

function highWaterBytes(): number {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
    if (kibibytes !== undefined) return Number(kibibytes) * KIBIBYTE;
  } catch {
    // Not on Linux.
  }
  return process.resourceUsage().maxRSS * KIBIBYTE;
}

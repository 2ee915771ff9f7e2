import { spawnSync } from 'node:child_process';

/** The library that the command `faketime` preloads; undefined where it is not installed. */
export function faketimeLibrary(): string | undefined {
  const { stdout } = spawnSync('faketime', ['-f', '+0s', 'printenv', 'LD_PRELOAD'], {
    encoding: 'utf8',
  });
  return stdout?.trim().split(':').at(-1) || undefined;
}

/** The environment of a process whose wall clock is off by that much, and its monotonic one is not. */
export const offBy = (library: string, shiftMs: number): Record<string, string> => ({
  LD_PRELOAD: library,
  FAKETIME: `${shiftMs > 0 ? '+' : ''}${shiftMs / 1_000}s`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  // Else it fakes the end of every timed wait on a condition, and `Atomics.wait` spins until its own.
  FAKETIME_FORCE_MONOTONIC_FIX: '0',
});

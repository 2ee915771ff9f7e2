import { readdir, readFile } from 'node:fs/promises';

/** Linux tells times in hundredths of a second, whatever its own clock does. */
const TICKS_PER_SECOND = 100;

/** Fields of `/proc/<pid>/stat` behind the name in parentheses, which may contain anything. */
const PARENT = 1;
/** Of the process itself, and of the children that it has outlived; user and system each. */
const TIMES = [11, 12, 13, 14];

/**
 * CPU seconds of a process and of all that it started, since their start; NaN where there is no
 * `/proc`.
 */
export async function processCpuSeconds(rootPid: number): Promise<number> {
  if (process.platform !== 'linux') return Number.NaN;
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const stats = new Map<number, readonly number[]>();
  await Promise.all(
    pids.map(async (pid) => {
      const stat = await statOf(pid);
      if (stat) stats.set(pid, stat);
    }),
  );
  let ticks = 0;
  for (const [pid, stat] of stats) {
    if (descendsFrom(rootPid, pid, stats))
      ticks += TIMES.reduce((sum, index) => sum + (stat[index] ?? 0), 0);
  }
  return ticks / TICKS_PER_SECOND;
}

function descendsFrom(
  rootPid: number,
  pid: number,
  stats: ReadonlyMap<number, readonly number[]>,
): boolean {
  for (let each: number | undefined = pid; each !== undefined; each = stats.get(each)?.[PARENT]) {
    if (each === rootPid) return true;
  }
  return false;
}

async function statOf(pid: number): Promise<number[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return text
    ?.slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}

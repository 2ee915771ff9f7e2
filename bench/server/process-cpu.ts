import { readdir, readFile } from 'node:fs/promises';

/** Linux tells times in hundredths of a second, whatever its own clock does. */
const TICKS_PER_SECOND = 100;

/** Fields of `/proc/<pid>/stat` behind the name in parentheses, which may contain anything. */
const PARENT = 1;
/** Of the process itself, and of the children that it has outlived. */
const USER_TIMES = [11, 13];
const KERNEL_TIMES = [12, 14];

/** Seconds of a processor; NaN where they cannot be told. */
export interface CpuTime {
  user: number;
  kernel: number;
}

const UNKNOWN: CpuTime = { user: Number.NaN, kernel: Number.NaN };

/** Of this process, since it began or since `before`. */
export function ownCpuTime(before: CpuTime = { user: 0, kernel: 0 }): CpuTime {
  const { user, system } = process.cpuUsage();
  return { user: user / 1e6 - before.user, kernel: system / 1e6 - before.kernel };
}

export const cpuSecondsOf = ({ user, kernel }: CpuTime): number => user + kernel;

export const sumOf = (times: readonly CpuTime[]): CpuTime => ({
  user: times.reduce((sum, { user }) => sum + user, 0),
  kernel: times.reduce((sum, { kernel }) => sum + kernel, 0),
});

export const cpuBetween = (before: CpuTime, after: CpuTime): CpuTime => ({
  user: after.user - before.user,
  kernel: after.kernel - before.kernel,
});

/**
 * Of a process and of all that it started, since their start: for a Postgres its backends, checkpointer, WAL writer,
 * autovacuum, and the ended ones, whose time the kernel adds to it.
 */
export async function treeCpuTime(rootPid: number | undefined): Promise<CpuTime> {
  if (rootPid === undefined || process.platform !== 'linux') return UNKNOWN;
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const stats = new Map<number, readonly number[]>();
  await Promise.all(
    pids.map(async (pid) => {
      const stat = await statOf(pid);
      if (stat) stats.set(pid, stat.values);
    }),
  );
  const own = [...stats].filter(([pid]) => descendsFrom(rootPid, pid, stats));
  const secondsOf = (fields: readonly number[]): number =>
    own.reduce((all, [, stat]) => fields.reduce((sum, at) => sum + (stat[at] ?? 0), all), 0) /
    TICKS_PER_SECOND;
  return { user: secondsOf(USER_TIMES), kernel: secondsOf(KERNEL_TIMES) };
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

/** The parent of a process of that name; nothing where `pid` is another one's, as in a container. */
export async function parentOf(pid: number, name: string): Promise<number | undefined> {
  const stat = process.platform === 'linux' ? await statOf(pid) : undefined;
  return stat?.name === name ? stat.values[PARENT] : undefined;
}

async function statOf(pid: number): Promise<{ name: string; values: number[] } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const nameEnd = text.lastIndexOf(')');
  const values = text.slice(nameEnd + 2).split(' ');
  // The first of them is a letter, the state.
  return { name: text.slice(text.indexOf('(') + 1, nameEnd), values: values.map(Number) };
}

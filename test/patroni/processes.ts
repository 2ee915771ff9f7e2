import { readdir, readFile } from 'node:fs/promises';

/** All processes that descend from that one. Linux keeps them under /proc. */
export async function childrenOf(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir('/proc')) {
    const each = Number(entry);
    if (!(each > 0)) continue;
    const stat = await readFile(`/proc/${each}/stat`, 'utf8').catch(() => '');
    // The name stands in brackets, and may hold any character.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (parent > 0) parents.set(each, parent);
  }
  const isBelow = (each: number | undefined): boolean =>
    each !== undefined && (each === pid || isBelow(parents.get(each)));
  return [...parents].filter(([, parent]) => isBelow(parent)).map(([each]) => each);
}

/** Those that are gone already are left out. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

import { readdir, readFile } from 'node:fs/promises';
import type { Client } from 'pg';

/** Linux tells times in hundredths of a second, whatever its own clock does. */
const TICKS_PER_SECOND = 100;

const LOCAL_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Fields of `/proc/<pid>/stat` behind the name in parentheses, which may contain anything. */
const PARENT = 1;
const OWN_TIMES = [11, 12];
const REAPED_TIMES = [13, 14];

/**
 * CPU time of the whole server: the postmaster, its living children (backends, checkpointer, WAL
 * writer, autovacuum …) and the children that have ended, whose time the kernel adds to it.
 */
export class ServerCpu {
  private constructor(private readonly postmasterPid: number | undefined) {}

  /** Of a server that is not on this machine, or where there is no `/proc`, nothing can be told. */
  static async of(client: Client, host: string): Promise<ServerCpu> {
    if (process.platform !== 'linux' || !LOCAL_HOSTS.has(host)) return new ServerCpu(undefined);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const backendPid = rows[0]?.pid;
    const fields = backendPid === undefined ? undefined : await statOf(backendPid);
    // In a container the server's own numbers mean other processes here.
    if (fields?.name !== 'postgres') return new ServerCpu(undefined);
    return new ServerCpu(fields.values[PARENT]);
  }

  /** CPU seconds since the server's start; NaN where it cannot be told. */
  async seconds(): Promise<number> {
    if (this.postmasterPid === undefined) return Number.NaN;
    const numbers = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
    const stats = await Promise.all(numbers.map((pid) => statOf(pid)));
    let ticks = 0;
    for (const [index, stat] of stats.entries()) {
      if (stat === undefined) continue;
      if (numbers[index] === this.postmasterPid) ticks += sum(stat.values, REAPED_TIMES);
      else if (stat.values[PARENT] !== this.postmasterPid) continue;
      ticks += sum(stat.values, OWN_TIMES);
    }
    return ticks / TICKS_PER_SECOND;
  }
}

const sum = (values: readonly number[], indexes: readonly number[]): number =>
  indexes.reduce((total, index) => total + (values[index] ?? 0), 0);

async function statOf(pid: number): Promise<{ name: string; values: number[] } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const nameEnd = text.lastIndexOf(')');
  return {
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    // The first of them is a letter, the state.
    values: text
      .slice(nameEnd + 2)
      .split(' ')
      .map(Number),
  };
}

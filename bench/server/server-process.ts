import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { stopLater } from '../run/shutdown.js';
import { type CpuTime, treeCpuTime } from './process-cpu.js';

const READY_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 50;
const STOP_WITHIN_MS = 20_000;
const LOG_TAIL = 2_000;

/**
 * Runs the server beside a shell that waits for the end of its input, which comes when the bench
 * ends it, and also when the bench is killed: no server is left behind.
 */
const KEEPER = '"$@" & server=$!; echo $server; cat >/dev/null; kill -TERM $server; wait $server';

/** A server of a system under test, on this machine and for this run alone. */
export class ServerProcess {
  /** Lets it end; kills it when it does not. It is called at the end, if not before. */
  readonly stop: () => Promise<void>;

  private constructor(
    private readonly keeper: ChildProcess,
    private readonly pid: number,
    private readonly logFile: string,
  ) {
    this.stop = stopLater(() => this.#stop());
  }

  /** @param env what it gets beside `PATH`: no settings of the machine */
  static async start(
    command: readonly string[],
    folder: string,
    env: Record<string, string> = {},
  ): Promise<ServerProcess> {
    const logFile = join(folder, 'server.log');
    const log = await open(logFile, 'a');
    const keeper = spawn('/bin/sh', ['-c', KEEPER, 'sh', ...command], {
      cwd: folder,
      // Ctrl+C reaches the group of the bench, which stops its servers last.
      detached: true,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['pipe', 'pipe', log.fd],
    });
    await log.close();
    const output = keeper.stdout;
    if (output === null) throw new Error('a server has no output');
    const [line] = (await once(createInterface(output), 'line')) as [string];
    output.resume();
    return new ServerProcess(keeper, Number(line), logFile);
  }

  /** Asks `probe` until it does not throw. @throws what it threw last, with the end of the log */
  async untilReady<T>(probe: () => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      try {
        return await probe();
      } catch (error) {
        if (performance.now() > deadlineMs || !this.#isAlive()) {
          const log = await readFile(this.logFile, 'utf8');
          throw new Error(`a server did not start:\n${log.slice(-LOG_TAIL)}`, { cause: error });
        }
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  cpuTime(): Promise<CpuTime> {
    return treeCpuTime(this.pid);
  }

  #isAlive(): boolean {
    try {
      return process.kill(this.pid, 0);
    } catch {
      return false;
    }
  }

  async #stop(): Promise<void> {
    if (this.keeper.exitCode !== null) return;
    const exited = once(this.keeper, 'exit');
    const timer = setTimeout(() => process.kill(this.pid, 'SIGKILL'), STOP_WITHIN_MS);
    this.keeper.stdin?.end();
    await exited;
    clearTimeout(timer);
  }
}

/** A folder that goes when the bench ends. */
export async function temporaryFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `delay-queue-bench-${name}-`));
  stopLater(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

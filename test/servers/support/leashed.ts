import { spawn, type ChildProcess } from 'node:child_process';
import type { OperatingUser } from '../../../src/embedded-postgres/operating-user.js';
import { livingProcesses } from '../../support/living-processes.js';

const OUTPUT_LIMIT_CHARS = 8_000;

/**
 * Waits for the end of its input, which comes with the end of our process, however that ends. A
 * program that a test has stopped hears no signal before it goes on.
 */
const LEASH = 'read -r _; kill -s "$2" "$1"; kill -s CONT "$1"';

export interface LeashedOptions {
  /** Programs like Postgres and PgBouncer refuse to run as root. */
  user: OperatingUser | undefined;
  /** What ends the program when the test process is killed before it could. */
  lastSignal: 'QUIT' | 'KILL';
}

/** A program of a test: it does not outlive the test process, not even one that is killed. */
export class Leashed {
  /** The last of what it printed. */
  output = '';
  /** Resolves when it has ended, for whatever cause; never rejects. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;

  static start(program: string, args: string[], options: LeashedOptions): Leashed {
    const child = spawn(program, args, {
      ...options.user,
      cwd: '/',
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl+C is for us; we stop what we started, in our order.
      detached: true,
    });
    return new Leashed(child, options.lastSignal);
  }

  private constructor(child: ChildProcess, lastSignal: string) {
    this.#child = child;
    livingProcesses().add(child);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-OUTPUT_LIMIT_CHARS);
      });
    }
    const leash = hold(child.pid, lastSignal);
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        livingProcesses().delete(child);
        // First: its number may soon be another's.
        leash?.kill('SIGKILL');
        resolve();
      };
      child.once('error', (error) => {
        this.output += error.message;
        end();
      });
      child.once('exit', end);
    });
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get running(): boolean {
    return livingProcesses().has(this.#child);
  }

  /** Sends the signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.running) this.#child.kill(signal);
    await this.ended;
  }
}

function hold(pid: number | undefined, signal: string): ChildProcess | undefined {
  if (pid === undefined) return undefined;
  const leash = spawn('/bin/sh', ['-c', LEASH, 'sh', String(pid), signal], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  leash.unref();
  return leash;
}

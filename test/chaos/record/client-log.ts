import { closeSync, openSync, writeSync } from 'node:fs';
import type { ClientLine } from './client-line.js';

type Invoke = Extract<ClientLine, { kind: 'invoke' }>;

/** An error's text in the log: for people, so its first lines do. */
const ERROR_CHARS_MAX = 300;

/**
 * What one client process asked and was told, as JSON lines. Each is appended by a system call of its
 * own before anything else happens, so that a process killed right after it leaves it behind.
 */
export class ClientLog {
  #calls = 0;

  /** @param prefix of the calls' ids; unique among the processes of a run */
  static open(file: string, prefix: string): ClientLog {
    return new ClientLog(openSync(file, 'a'), prefix);
  }

  private constructor(
    private readonly fd: number,
    private readonly prefix: string,
  ) {}

  /** Before the call goes out. @returns the id by which its answer is reported */
  invoke(line: Omit<Invoke, 'kind' | 'call'>): string {
    this.#calls += 1;
    const call = `${this.prefix}-${this.#calls}`;
    this.#append({ kind: 'invoke', call, ...line });
    return call;
  }

  /** The answer has come, in a transaction that of COMMIT. */
  ok(call: string, answer: { verdict: string; id: string | null; dueMs: number | null }): void {
    const { verdict, id, dueMs } = answer;
    this.#append({ kind: 'ok', call, verdict, id, dueMs });
  }

  /** It certainly did not happen. */
  fail(call: string, error: unknown): void {
    this.#append({ kind: 'fail', call, error: textOf(error) });
  }

  /** It may have happened. */
  unknown(call: string, error: unknown): void {
    this.#append({ kind: 'unknown', call, error: textOf(error) });
  }

  close(): void {
    closeSync(this.fd);
  }

  #append(line: ClientLine): void {
    writeSync(this.fd, `${JSON.stringify(line)}\n`);
  }
}

const textOf = (error: unknown): string => String(error).slice(0, ERROR_CHARS_MAX);

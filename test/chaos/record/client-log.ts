import { closeSync, openSync, writeSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sql } from './record.js';

/**
 * What a client asks of the queue, or of the shop. Each item of a `scheduleMany` is a call of its own.
 *
 * The shop's name no delay: `place` has its `Idempotency-Key` for a key, and when it is acknowledged
 * the order's id for an id; `pay` and `ship` have the order's id for a key.
 */
export type Verb = 'schedule' | 'cancel' | 'reschedule' | 'retryDead' | 'place' | 'pay' | 'ship';

export interface Asked {
  verb: Verb;
  name: string;
  key: string | null;
  /** What `schedule` wrote into the payload: unique per wanted delay, so it names one. */
  token: string | null;
  /** Part of a transaction of the caller's. */
  inTransaction: boolean;
}

export interface Answer {
  verdict: string;
  id: string | null;
  dueMs: number | null;
}

/** An error's text in the log: for people, so its first lines do. */
const ERROR_CHARS_MAX = 300;

/**
 * What one client process asked and was told, as JSON lines. Each is appended by a system call of its
 * own, before the call goes out and after its answer came, so that a process killed right after it
 * leaves it behind. A call without an answer counts as `unknown`.
 */
export class ClientLog {
  #calls = 0;
  readonly #fd: number;

  /** @param prefix of the calls' ids; unique among the processes of a run */
  constructor(
    file: string,
    private readonly prefix: string,
  ) {
    this.#fd = openSync(file, 'a');
  }

  /** Before the call goes out. @returns the id by which its answer is reported */
  invoke(asked: Asked): string {
    this.#calls += 1;
    const call = `${this.prefix}-${this.#calls}`;
    this.#append({ kind: 'invoke', call, ...asked });
    return call;
  }

  /** The answer has come, in a transaction that of COMMIT. */
  ok(call: string, { verdict, id, dueMs }: Answer): void {
    this.#append({ kind: 'ok', call, verdict, id, dueMs });
  }

  /**
   * It certainly did not happen: refused by a typed error before anything was written, rolled back on
   * purpose, or broken before COMMIT was sent.
   */
  fail(call: string, error: unknown): void {
    this.#append({ kind: 'fail', call, error: String(error).slice(0, ERROR_CHARS_MAX) });
  }

  /** It may have happened. */
  unknown(call: string, error: unknown): void {
    this.#append({ kind: 'unknown', call, error: String(error).slice(0, ERROR_CHARS_MAX) });
  }

  close(): void {
    closeSync(this.#fd);
  }

  #append(line: object): void {
    writeSync(this.#fd, `${JSON.stringify(line)}\n`);
  }
}

const LOAD = `
  WITH line AS (
    SELECT * FROM json_to_recordset($1::json) AS l(
      kind text, call text, verb text, name text, key text, token text, "inTransaction" boolean,
      verdict text, id text, "dueMs" numeric, error text))
  INSERT INTO chaos.client
  SELECT call, asked.verb, asked.name, asked.key, asked.token, asked."inTransaction",
         COALESCE(told.kind, 'unknown'), told.verdict, told.id, to_timestamp(told."dueMs" / 1000), told.error
  FROM line asked LEFT JOIN (SELECT * FROM line WHERE kind <> 'invoke') told USING (call)
  WHERE asked.kind = 'invoke'`;

/** Reads the files of all clients into `chaos.client`. */
export async function loadClientLogs(sql: Sql, folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.jsonl')) continue;
    const lines = (await readFile(join(folder, file), 'utf8')).split('\n');
    // The last line of a process that was killed may be torn; any other must be whole.
    lines.pop();
    await sql(LOAD, [`[${lines.join(',')}]`]);
  }
}

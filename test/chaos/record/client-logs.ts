import { readFile } from 'node:fs/promises';
import type { ClientLine } from './client-line.js';
import type { Sql } from './sql.js';

type Invoke = Extract<ClientLine, { kind: 'invoke' }>;
type Answer = Exclude<ClientLine, Invoke>;

/** Calls of one statement. */
const BATCH = 2_000;

/**
 * Reads the files of all clients into `chaos.client`. A call without an answer is `unknown`: its
 * process was killed, or the run ended while it waited.
 *
 * @throws when a file contradicts itself: then the harness is wrong, and nothing could be judged by it
 */
export async function loadClientLogs(sql: Sql, files: string[]): Promise<void> {
  const calls = new Map<string, Call>();
  for (const file of files) {
    for (const line of linesOf(await readFile(file, 'utf8'), file)) enter(calls, line);
  }
  const rows = [...calls.values()].map(rowOf);
  for (let from = 0; from < rows.length; from += BATCH) {
    await sql(
      `INSERT INTO chaos.client
       SELECT call, verb, name, key, token, in_transaction, outcome, verdict, id,
              to_timestamp(due_ms / 1000), error
       FROM json_to_recordset($1::json) AS c(
         call text, verb text, name text, key text, token text, in_transaction boolean,
         outcome text, verdict text, id text, due_ms numeric, error text)`,
      [JSON.stringify(rows.slice(from, from + BATCH))],
    );
  }
}

interface Call {
  asked: Invoke;
  answer: Answer | undefined;
}

/** The last line of a process that was killed may be torn; any other must be whole. */
function linesOf(text: string, file: string): ClientLine[] {
  const lines = text.split('\n');
  lines.pop();
  return lines.map((line, index) => {
    try {
      return JSON.parse(line) as ClientLine;
    } catch {
      throw new Error(`${file}:${index + 1} is no line of a client's log: ${line.slice(0, 200)}`);
    }
  });
}

function enter(calls: Map<string, Call>, line: ClientLine): void {
  const known = calls.get(line.call);
  if (line.kind === 'invoke') {
    if (known) throw new Error(`two calls are called ${line.call}`);
    calls.set(line.call, { asked: line, answer: undefined });
    return;
  }
  if (known === undefined) throw new Error(`${line.call} was answered and never made`);
  if (known.answer) throw new Error(`${line.call} was answered twice`);
  known.answer = line;
}

function rowOf({ asked, answer }: Call): Record<string, unknown> {
  const ok = answer?.kind === 'ok' ? answer : undefined;
  return {
    call: asked.call,
    verb: asked.verb,
    name: asked.name,
    key: asked.key,
    token: asked.token,
    in_transaction: asked.inTransaction,
    outcome: answer?.kind ?? 'unknown',
    verdict: ok?.verdict ?? null,
    id: ok?.id ?? null,
    due_ms: ok?.dueMs ?? null,
    error: answer === undefined ? 'no answer' : 'error' in answer ? answer.error : null,
  };
}

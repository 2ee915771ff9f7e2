import type { Reply } from '../../../../src/delay-queue/cli/terminal.js';
import { run } from '../../../../src/delay-queue/cli/run.js';

/** A run of the command line in this process. */
export interface Ran {
  exitCode: number;
  out: string;
  err: string;
  /** What was asked. */
  asked: string[];
}

interface Given {
  /** Called with each line on the standard output. */
  onOut?: (line: string) => void;
  /** Answers to questions; without any there is no terminal. */
  answers?: Reply[];
  environment?: Record<string, string>;
  /** Called with each line on the standard error output, and what interrupts as Ctrl-C does. */
  onErr?: (line: string, interrupt: () => void) => void;
}

/** Runs `args` against a database. */
export async function commandLine(
  url: string,
  args: readonly string[],
  { answers, environment = {}, onOut, onErr }: Given = {},
): Promise<Ran> {
  const ran: Ran = { exitCode: -1, out: '', err: '', asked: [] };
  const interrupted = new AbortController();
  ran.exitCode = await run(args, {
    environment: { DATABASE_URL: url, ...environment },
    version: '1.2.3',
    terminal: {
      out: (text) => {
        ran.out += `${text}\n`;
        onOut?.(text);
      },
      err: (text) => {
        ran.err += `${text}\n`;
        onErr?.(text, () => interrupted.abort(new Error('interrupted')));
      },
      isInteractive: answers !== undefined,
      ask: async (question) => {
        ran.asked.push(question);
        return answers?.shift() ?? 'no';
      },
      interruptible: (work) => work(interrupted.signal),
    },
  });
  return ran;
}

/** The document that a command printed. */
export async function document<Of = any>(url: string, args: readonly string[]): Promise<Of> {
  const ran = await commandLine(url, [...args, '--json']);
  return JSON.parse(ran.out) as Of;
}

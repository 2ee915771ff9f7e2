import type { Arguments } from './parse.js';

/** To a question; `interrupted`: Ctrl-C. */
export type Reply = 'yes' | 'no' | 'interrupted';

/** Where a command prints, and whom it asks. */
export interface Terminal {
  /** Results; nothing else, so that a script can read them. */
  out(text: string): void;
  /** Counts, questions, progress, errors. */
  err(text: string): void;
  /** Whether a question can be answered. */
  readonly isInteractive: boolean;
  ask(question: string): Promise<Reply>;
  /** While `work` runs, Ctrl-C aborts the signal; a second one ends the process. */
  interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** What a command runs with. */
export interface CommandContext {
  given: Arguments;
  /** `process.env`, or a test's. */
  environment: Readonly<Record<string, string | undefined>>;
  terminal: Terminal;
  /** Of the package. */
  version: string;
}

/** Exit codes; docs/command-line.md lists them. */
export const EXIT = {
  DONE: 0,
  /** It failed, or found something, or not all was changed. */
  FAILED: 1,
  WRONG_USAGE: 2,
  /** `explain`: no such delay. */
  NOT_FOUND: 3,
  /** As shells write it: 128 and the number of SIGINT. */
  INTERRUPTED: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type Run = (context: CommandContext) => Promise<ExitCode>;

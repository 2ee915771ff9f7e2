#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { run } from './run.js';
import { type Reply, EXIT, type Terminal } from './terminal.js';

/** `npx nestjs-delay-queue`: the process, its streams and its signals. */
const terminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  ask: (question) =>
    new Promise((answered) => {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      const answer = (given: Reply): void => {
        answered(given);
        lines.close();
      };
      lines.on('close', () => answered('no'));
      lines.on('SIGINT', () => {
        process.stderr.write('\n');
        answer('interrupted');
      });
      lines.question(`${question} [y/N] `, (text) =>
        answer(/^y(?:es)?$/i.test(text.trim()) ? 'yes' : 'no'),
      );
    }),
  interruptible: async (work) => {
    const interrupted = new AbortController();
    const interrupt = (): void => {
      if (interrupted.signal.aborted) process.exit(EXIT.INTERRUPTED);
      interrupted.abort(new Error('interrupted'));
    };
    process.on('SIGINT', interrupt);
    process.on('SIGTERM', interrupt);
    try {
      return await work(interrupted.signal);
    } finally {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    }
  },
};

// The reader of a pipe has seen enough: `… list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.DONE : EXIT.FAILED);
});

function packageVersion(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

void run(process.argv.slice(2), {
  environment: process.env,
  terminal,
  version: packageVersion(),
}).then((exitCode) => {
  process.exitCode = exitCode;
});

import { execFile, spawnSync } from 'node:child_process';
import { writeSync } from 'node:fs';
import { promisify } from 'node:util';

/** Where Debian keeps the sources of Go's packages, as `golang-github-lib-pq-dev`. */
export const GO_ENV = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOFLAGS: '' };

export interface Python {
  command: string;
  driver: 'psycopg' | 'psycopg2';
}

const works = (command: string, args: string[]): boolean =>
  spawnSync(command, args, { env: { ...process.env, ...GO_ENV } }).status === 0;

function tellAbsent(what: string, instead = 'Its tests did not run.'): undefined {
  writeSync(2, `\nSKIPPED: this machine has no ${what}. ${instead}\n`);
  return undefined;
}

/**
 * The Python of the path may be another than the one that Debian's packages belong to.
 * @param instead what to say where there is none
 */
export function findPython(instead?: string): Python | undefined {
  for (const driver of ['psycopg', 'psycopg2'] as const) {
    for (const command of ['python3', '/usr/bin/python3']) {
      if (works(command, ['-c', `import ${driver}`])) return { command, driver };
    }
  }
  return tellAbsent(
    'python3 with psycopg (python3-psycopg) or psycopg2 (python3-psycopg2)',
    instead,
  );
}

export const findGo = (): string | undefined =>
  works('go', ['list', 'github.com/lib/pq'])
    ? 'go'
    : tellAbsent('go with lib/pq (golang-go, golang-github-lib-pq-dev)');

const execute = promisify(execFile);

/** @returns what it printed, or what it said in its last words */
export async function printed(
  command: string,
  args: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<string> {
  const env = { ...process.env, ...options.env };
  const ended = execute(command, args, { ...options, env, timeout: 120_000 });
  const { stdout, stderr } = await ended.catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return (stdout + stderr).trim();
}

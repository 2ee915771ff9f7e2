import { spawn } from 'node:child_process';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import type { OperatingUser } from './operating-user.js';

const OUTPUT_LIMIT_CHARS = 4_000;

/** Runs one of Postgres' programs to its end, as `user`. Its error output becomes the message. */
export function run(
  program: string,
  args: string[],
  user: OperatingUser | undefined,
  output: 'captured' | 'ignored' = 'captured',
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...user,
      // That user may not be able to enter our working directory.
      cwd: '/',
      env: { PATH: process.env.PATH, SystemRoot: process.env.SystemRoot, LC_ALL: 'C' },
      // A server inherits the output of its starter: an open pipe would never end.
      stdio: output === 'captured' ? ['ignore', 'ignore', 'pipe'] : 'ignore',
      windowsHide: true,
    });
    let text = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-OUTPUT_LIMIT_CHARS);
    });
    child.once('error', (error) => {
      const advice = 'Set DATABASE_URL to a Postgres server instead.';
      reject(new EmbeddedPostgresError(`Cannot run ${program}: ${error.message}. ${advice}`));
    });
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else
        reject(new EmbeddedPostgresError(`${program} failed (${signal ?? code}). ${text.trim()}`));
    });
  });
}

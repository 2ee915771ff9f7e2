import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where an ordinary user's PATH often does not lead. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];

/** The full path of a program of this machine; undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Says loudly that a file's tests do not run here, and what would change that. */
export function sayNotRun(tests: string, why: string): void {
  process.stderr.write(`\nNOT RUN: ${tests}. ${why}\n`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

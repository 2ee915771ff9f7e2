import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourcePatch } from '../../tools/source-patches.mjs';
import type { Suite } from './suite.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONFIG = fileURLToPath(new URL('./jest.config.mjs', import.meta.url));

interface Result {
  passed: number;
  failed?: { path: string; test: string };
}

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Ends all that a process has started, which leads a group of its own; harmless when nothing of it is left. */
function endAll(leader: ChildProcess): void {
  try {
    if (leader.pid !== undefined) process.kill(-leader.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Looks at what is written down so far. */
const LOOK_EVERY_MS = 500;

function resultIn(file: string): Result | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Result;
  } catch {
    return undefined;
  }
}

/** Tests on sources that are changed as they are loaded; ends at the first test that fails. */
async function run(tests: readonly string[], patches: readonly SourcePatch[]): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'delay-queue-mutants-'));
  const file = join(folder, 'result.json');
  const child = spawn('npm', ['test', '--', ...tests, '--config', CONFIG, '--bail', '-w', '1'], {
    cwd: ROOT,
    stdio: 'ignore',
    // A mutant may never end, nor may the worker of Jest that runs it.
    detached: true,
    env: { ...process.env, SOURCE_PATCHES: JSON.stringify(patches), RESULT_FILE: file },
  });
  const end = (): void => endAll(child);
  for (const signal of INTERRUPTS) process.once(signal, end);
  const look = setInterval(() => {
    if (resultIn(file)?.failed !== undefined) end();
  }, LOOK_EVERY_MS);
  await once(child, 'close');
  clearInterval(look);
  for (const signal of INTERRUPTS) process.off(signal, end);
  end();
  const result = resultIn(file);
  rmSync(folder, { recursive: true });
  if (result === undefined) throw new Error('no file of tests has ended');
  return result;
}

const textOf = ({ passed, failed }: Result): string =>
  failed
    ? `${failed.path.slice(ROOT.length)}: ${failed.test.split('\n', 1)[0]}`
    : `not found, ${passed} passed`;

/** @param tests what Jest is given */
export const jestSuite = (...tests: readonly string[]): Suite => ({
  isAbout: () => true,
  judge: async (_, mutant) => {
    const result = await run(tests, mutant?.patches ?? []);
    const isFound = result.failed !== undefined;
    return { asExpected: isFound === (mutant !== undefined), by: textOf(result), details: [] };
  },
});

/** The specs that a mutant names, each alone: each has to find it. */
export const NAMED: Suite = {
  isAbout: (_, mutant) => mutant?.tests !== undefined,
  judge: async (_, { tests = [], patches } = { about: '', patches: [] }) => {
    const results: Result[] = [];
    for (const test of tests) results.push(await run([`/test/${test}`], patches));
    const asExpected = results.every(({ failed }) => failed !== undefined);
    return { asExpected, by: results.map(textOf).join('; '), details: [] };
  },
};

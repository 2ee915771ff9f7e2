import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SourcePatch } from '../../tools/source-patches.mjs';
import { ROOT } from './root.js';

const CONFIG = fileURLToPath(new URL('./jest.config.mjs', import.meta.url));

/** So long a file may take beyond what it takes else, until it counts as one that hangs. */
const HANGS_AFTER_MS = 120_000;
const LOOK_EVERY_MS = 500;

/** Of a mutant that eats memory. */
const HEAP_MB = 3_000;

/** How a file of tests ended. */
export interface FileResult {
  path: string;
  ms: number;
  passed: number;
  /** The first test that failed, and why. */
  test?: string;
  why: string;
}

interface Run {
  files: FileResult[];
  /** It was given up: no file had ended for too long, or the time was over. */
  stopped?: 'hangs' | 'time';
}

export interface RunOptions {
  /** What Jest is given: files, patterns or options. */
  tests: readonly string[];
  /** The configuration of Jest. Default: that of mutants. */
  config?: string;
  patches?: readonly SourcePatch[];
  /** Ends at the first test that fails. */
  bail: boolean;
  workers?: number;
  /** The longest of them, as far as it is known; by default none counts as one that hangs. */
  longestMs?: number;
  withinMs?: number;
  env?: Readonly<Record<string, string>>;
  onFile?: (result: FileResult) => void;
  signal: AbortSignal;
}

/** Ends all that a process has started, which leads a group of its own. */
function endAll({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Runs tests in one process of Jest, on sources that are changed as they are loaded. */
export async function run(options: RunOptions): Promise<Run> {
  const { tests, patches = [], bail, workers = 1, signal } = options;
  const { config = CONFIG, longestMs = Infinity, withinMs = Infinity } = options;
  const folder = mkdtempSync(join(tmpdir(), 'random-mutant-'));
  const file = join(folder, 'result');
  const jest = ['--config', config, '-w', String(workers), ...(bail ? ['--bail'] : [])];
  const child = spawn('npm', ['test', '-s', '--', ...jest, ...tests], {
    cwd: ROOT,
    stdio: 'ignore',
    // A mutant may never end, nor may the worker of Jest that runs it.
    detached: true,
    env: {
      ...process.env,
      ...options.env,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
      SOURCE_PATCHES: JSON.stringify(patches),
      RESULT_FILE: file,
      ...(bail && { FIRST_FAILURE: 'ends it' }),
    },
  });
  let stopped: Run['stopped'];
  const beganAtMs = performance.now();
  let lastAtMs = beganAtMs;
  let seen = 0;
  const look = (): void => {
    const results = resultsIn(file);
    for (const result of results.slice(seen)) options.onFile?.(result);
    if (results.length > seen) lastAtMs = performance.now();
    seen = results.length;
    const isOver = bail && results.some(({ test }) => test !== undefined);
    if (performance.now() - lastAtMs > longestMs * 2 + HANGS_AFTER_MS) stopped = 'hangs';
    else if (performance.now() - beganAtMs > withinMs) stopped = 'time';
    if (stopped !== undefined || isOver) endAll(child);
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  const abort = (): void => endAll(child);
  signal.addEventListener('abort', abort);
  await once(child, 'close');
  signal.removeEventListener('abort', abort);
  clearInterval(timer);
  endAll(child);
  for (const result of resultsIn(file).slice(seen)) options.onFile?.(result);
  const files = resultsIn(file);
  rmSync(folder, { recursive: true });
  return stopped === undefined ? { files } : { files, stopped };
}

function resultsIn(file: string): FileResult[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as FileResult);
  } catch {
    return [];
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutant.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** In the words of Jest. A file that does not load, or leaves something open, is no test that fails. */
const TESTS = /^Tests: .*$/m;
const SOME_FAILED = /\b[1-9]\d* failed/;

/** What became of one of a mutant's tests. */
export interface Ran {
  test: string;
  /** Some of it failed. */
  bites: boolean;
  summary: string;
}

/** Runs the tests that a mutant names, on the mutant, one after the other. */
export async function runTestsOf({ tests, patches }: Mutant): Promise<Ran[]> {
  const all: Ran[] = [];
  for (const test of tests) {
    const output = await jest(test, { SOURCE_PATCHES: JSON.stringify(patches) });
    const [summary] = TESTS.exec(output) ?? ['Tests: none'];
    all.push({ test, bites: SOME_FAILED.test(summary), summary });
  }
  return all;
}

async function jest(test: string, env: NodeJS.ProcessEnv): Promise<string> {
  const config = fileURLToPath(new URL('./jest.config.mjs', import.meta.url));
  const child = spawn('npm', ['test', '--', '--config', config, `/test/${test}`, '-w', '1'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await once(child, 'close');
  return output;
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A test that is left out of a run, or a whole file, or a folder. */
export interface LeftOut {
  /** Relative to `test`. */
  file: string;
  /** One test, by the names of its blocks and its own, a space between; else all that are there. */
  test?: string;
  why: string;
}

/**
 * Runs the tests on a server that is there already; says first, loudly, what is left out and why.
 * @returns Jest's exit code
 */
export async function runTests(
  serverUrl: string,
  leftOut: readonly LeftOut[],
  jestArguments: readonly string[],
): Promise<number> {
  for (const { file, test, why } of leftOut) {
    process.stderr.write(`NOT RUN: ${file}${test === undefined ? '' : ` › ${test}`}: ${why}\n`);
  }
  const child = spawn('npm', ['test', '--', ...jestArguments, ...exclusions(leftOut)], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, TEST_DATABASE_URL: serverUrl },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function exclusions(leftOut: readonly LeftOut[]): string[] {
  const files = leftOut.flatMap(({ file, test }) =>
    test === undefined ? [escaped(`/test/${file}`)] : [],
  );
  const tests = leftOut.flatMap(({ test }) => (test === undefined ? [] : [escaped(test)]));
  return [
    ...(files.length > 0 ? ['--testPathIgnorePatterns', '/node_modules/', ...files] : []),
    ...(tests.length > 0 ? [`--testNamePattern=^(?!(${tests.join('|')})$)`] : []),
  ];
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

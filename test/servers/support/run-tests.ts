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
 * @param options.onOutput gets what Jest prints, which is printed nowhere else then
 * @returns Jest's exit code
 */
export async function runTests(
  serverUrl: string,
  leftOut: readonly LeftOut[],
  jestArguments: readonly string[],
  { env = {}, onOutput }: { env?: NodeJS.ProcessEnv; onOutput?: (text: string) => void } = {},
): Promise<number> {
  for (const { file, test, why } of leftOut) {
    process.stderr.write(`NOT RUN: ${file}${test === undefined ? '' : ` › ${test}`}: ${why}\n`);
  }
  const child = spawn('npm', ['test', '--', ...jestArguments, ...exclusions(leftOut)], {
    cwd: ROOT,
    stdio: ['inherit', onOutput ? 'pipe' : 'inherit', onOutput ? 'pipe' : 'inherit'],
    env: { ...process.env, ...env, TEST_DATABASE_URL: serverUrl },
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (onOutput) stream?.setEncoding('utf8').on('data', onOutput);
  }
  const [code] = (await once(child, 'close')) as [number | null];
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

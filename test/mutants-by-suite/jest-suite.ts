import { relative } from 'node:path';
import type { SourcePatch } from '../../tools/source-patches.mjs';
import { ROOT } from './root.js';
import { run } from './run.js';
import type { Suite } from './suite.js';

/** Runs tests up to the first that fails. */
async function firstFailure(
  tests: readonly string[],
  patches: readonly SourcePatch[],
  signal: AbortSignal,
): Promise<{ isFound: boolean; by: string }> {
  const { files } = await run({ tests, patches, bail: true, signal });
  if (files.length === 0) throw new Error('no file of tests has ended');
  const failed = files.find(({ test }) => test !== undefined);
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  const by =
    failed === undefined
      ? `not found, ${passed} passed`
      : `${relative(ROOT, failed.path)}: ${failed.test?.split('\n', 1)[0]}`;
  return { isFound: failed !== undefined, by };
}

/** @param tests what Jest is given */
export const jestSuite = (signal: AbortSignal, ...tests: readonly string[]): Suite => ({
  isAbout: () => true,
  judge: async (_, mutant) => {
    const { isFound, by } = await firstFailure(tests, mutant?.patches ?? [], signal);
    return { asExpected: isFound === (mutant !== undefined), by, details: [] };
  },
});

/** The specs that a mutant names, each alone: each has to find it. */
export const namedSuite = (signal: AbortSignal): Suite => ({
  isAbout: (_, mutant) => mutant?.tests !== undefined,
  judge: async (_, { tests = [], patches } = { about: '', patches: [] }) => {
    const results: { isFound: boolean; by: string }[] = [];
    for (const test of tests) {
      results.push(await firstFailure([`/test/${test}`], patches, signal));
    }
    const asExpected = results.every(({ isFound }) => isFound);
    return { asExpected, by: results.map(({ by }) => by).join('; '), details: [] };
  },
});

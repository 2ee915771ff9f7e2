// Jest would turn a `.ts` file here into CommonJS; the loader in `tools/` takes it as it is.
import { bundleDependencies } from '../../tools/dependencies.mjs';
import { openTestRun } from './open-test-run.ts';

export default async function setUp() {
  await Promise.all([bundleDependencies(), openTestRun()]);
}

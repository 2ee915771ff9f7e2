// Jest would turn a `.ts` file here into CommonJS; the loader in `tools/` takes it as it is.
import { bundleDependencies } from '../../tools/dependencies.mjs';
import { buildDashboard } from '../../tools/page/build.mjs';
import { openTestRun } from './open-test-run.ts';

export default async function setUp() {
  process.env.DELAY_QUEUE_INVARIANTS ??= 'on';
  const [folder] = await Promise.all([bundleDependencies(), openTestRun(), buildDashboard()]);
  // For the resolver, Jest's workers, and the loader of what they start.
  if (folder !== undefined) process.env.DELAY_QUEUE_BUNDLE = folder;
}

import { DelayTesting } from 'nestjs-delay-queue/testing';
import type { DelayNode, NodeSetup } from '../../../support/delay-node.js';
import type { Stage } from '../../engine/support/stage.js';

/** A node that runs nothing by itself, and what makes it run. */
export async function startTested(
  stage: Stage,
  setup: Omit<NodeSetup, 'url'> = {},
): Promise<DelayNode & { testing: DelayTesting }> {
  const options = { ...setup.options, worker: 'manual' as const };
  const node = await stage.start({ ...setup, options });
  return { ...node, testing: DelayTesting.of(node.app) };
}

/** What ran, as short as a test can compare it. */
export const told = (runs: readonly { name: string; key: string | null; outcome: string }[]) =>
  runs.map(({ name, key, outcome }) => `${name} ${key}: ${outcome}`);

import { afterEach, beforeAll } from '@jest/globals';
import { ModuleRef } from '@nestjs/core';
import type { Delay, DelayContext, DelayQueueOptions, OnDelayOptions } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { type DelayNode, type NodeSetup, plainHandler } from '../../../support/delay-node.js';
import { OneNode } from '../../../support/one-node.js';
import type { Stage } from '../../engine/support/stage.js';

/** A node that runs nothing by itself, and what makes it run. */
export async function startTested(
  stage: Pick<Stage, 'start'>,
  setup: Omit<NodeSetup, 'url'> = {},
): Promise<DelayNode & { testing: DelayTesting }> {
  const options = { ...setup.options, worker: 'manual' as const };
  const node = await stage.start({ ...setup, options });
  return { ...node, testing: DelayTesting.of(node.app) };
}

/** What ran, as short as a test can compare it. */
export const told = (runs: readonly { name: string; key: string | null; outcome: string }[]) =>
  runs.map(({ name, key, outcome }) => `${name} ${key}: ${outcome}`);

type TestName = `test.${string}`;
type Run = (delay: Delay<TestName>, ctx: DelayContext) => unknown;

/** What is tried again is so an hour later. */
const HANDLER: OnDelayOptions = { maxAttempts: 3, backoff: { base: '1h', max: '1h', jitter: 0 } };

/** One such node for all tests of a file, with plain handlers of these names. What they do, each test says. */
export class TestedNode extends OneNode {
  testing!: DelayTesting;
  /** By name; others do nothing. */
  does: Record<TestName, Run> = {};

  constructor(
    handlers: Record<TestName, OnDelayOptions>,
    { providers = [], ...options }: DelayQueueOptions & Pick<NodeSetup, 'providers'> = {},
  ) {
    let ref: ModuleRef | undefined;
    const plain = Object.entries(handlers).map(([name, own]) =>
      plainHandler(
        name as TestName,
        async (delay, ctx) => void (await this.does[name as TestName]?.(delay, ctx)),
        { ...HANDLER, ...own },
      ),
    );
    const app = { provide: 'app', inject: [ModuleRef], useFactory: (of: ModuleRef) => (ref = of) };
    super({ providers: [...plain, ...providers, app], options: { ...options, worker: 'manual' } });

    beforeAll(() => {
      this.testing = DelayTesting.of(ref as ModuleRef);
    });

    afterEach(() => {
      this.does = {};
    });
  }

  /** Waits for so long; its key is told in `told`. */
  schedule(name: TestName, key: string, after: string | 0, more: { group?: string } = {}) {
    return this.delays.schedule(name, null, { after, key, ...more });
  }
}

export const fails = (): never => {
  throw new Error('no');
};

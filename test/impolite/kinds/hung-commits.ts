import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { randomOf } from '../../../src/random.js';
import { faultsOf } from '../checks/index.js';
import { Ground } from '../ground.js';
import type { ImpoliteNode } from '../node.js';
import { NAMES, type Program } from '../program.js';
import { Quiet } from '../quiet.js';
import { Stage } from '../stage.js';

/** The engine gives up a statement long before this. */
const TROUBLE_WITHIN_MS = 60_000;

/** How long commits still hang when a claim has been given up. */
const GOES_ON_MS = 6_000;

/** What was given back is tried again after pauses, and found by sweeps: more patience than elsewhere. */
const OVERTAKEN_MAX = 250;

/**
 * Commits hang while delays are claimed: the standby is away. The claims are given up, and committed
 * all the same when it is back; no delay may lose an attempt by that.
 *
 * On a server of its own, which stands still for all meanwhile.
 */
export async function playHungCommits(_: Ground, seed: string): Promise<string[]> {
  const ground = await Ground.open();
  try {
    return await playOn(ground, seed);
  } finally {
    await ground.close();
  }
}

async function playOn(ground: Ground, seed: string): Promise<string[]> {
  const random = randomOf(seed);
  const before = Array.from({ length: random.integer(3, 9) }, (_, index) => ({
    name: random.pick(NAMES),
    key: `k${index}`,
    afterMs: random.integer(300, 900),
    maxAttempts: random.integer(1, 2),
    script: { steps: [{ is: 'write' as const }], fails: 0, how: 'throws' as const },
  }));
  const setup = {
    way: 'url',
    nodes: 1,
    poolMax: 6,
    leaseMs: random.pick([3_600_000, 20_000]),
    horizonMs: 30_000,
    loadEveryMs: 10_000,
    concurrency: random.integer(2, 10),
    settings: { synchronous_commit: 'on' },
  } as const;
  const program: Program = { seed, setup, before, sessions: [] };
  const stage = await Stage.open(ground, program);
  try {
    const [node] = stage.nodes as [ImpoliteNode];
    await ground.letCommitsHang(true);
    try {
      await claimGivenUp(node);
      await pause(random.integer(0, GOES_ON_MS));
    } finally {
      await ground.letCommitsHang(false);
    }
    const { client, record, handlers } = stage;
    const rows = await new Quiet(client, node.delays, handlers, record, OVERTAKEN_MAX).wait();
    return await faultsOf(record, client, rows);
  } finally {
    await stage.close();
  }
}

/** The engine says that a claim had no answer. */
async function claimGivenUp({ events }: ImpoliteNode): Promise<void> {
  const signal = AbortSignal.timeout(TROUBLE_WITHIN_MS);
  for (;;) {
    const [{ task }] = (await once(events, 'taskFailed', { signal })) as [{ task: string }];
    if (task === 'claim') return;
  }
}

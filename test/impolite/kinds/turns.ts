import { setTimeout as pause } from 'node:timers/promises';
import { type Type, Injectable } from '@nestjs/common';
import { OnDelay } from 'nestjs-delay-queue';
import { until } from '../../support/until.js';
import { randomOf } from '../../../src/random.js';
import type { Ground } from '../ground.js';
import { startImpoliteNode } from '../node.js';

/**
 * The part of a name's backlog that may run between two runs of another name that waits. Who gets no turn waits for all
 * of it; who gets one waits for three runs, and for a dozen when the machine keeps the claim of its turn.
 */
const BETWEEN_MAX = 0.6;

const DUE_AFTER_MS = 300;

/** Several names have a backlog each, and share the few connections that transactions may have. */
export async function playTurns(ground: Ground, seed: string): Promise<string[]> {
  const random = randomOf(seed);
  const names = Array.from(
    { length: random.pick([2, 3, 3, 4, 5, 6]) },
    (_, index) => `test.turn${index}`,
  );
  const each = random.integer(60, 150);
  const workMs = random.integer(0, 2);
  const database = await ground.database();
  const started: string[] = [];
  const setup = {
    way: 'url',
    nodes: 1,
    poolMax: random.pick([2, 2, 3, 4]),
    leaseMs: 30_000,
    horizonMs: 30_000,
    loadEveryMs: 10_000,
    concurrency: random.integer(1, 3),
  } as const;
  const providers = names.map((name) =>
    handlerOf(name as `test.${string}`, async () => {
      started.push(name);
      if (workMs > 0) await pause(workMs);
    }),
  );
  try {
    const node = await startImpoliteNode(database.url, setup, providers);
    try {
      const items = names.flatMap((name) =>
        Array.from({ length: each }, () => ({ name, payload: 0, after: DUE_AFTER_MS })),
      );
      await node.delays.scheduleMany(items as Parameters<typeof node.delays.scheduleMany>[0]);
      await until(
        () => started.length,
        (count) => count >= items.length,
      );
    } finally {
      await node.stop();
    }
  } finally {
    await database.drop();
  }
  return [...faultsOf(names, started, each * BETWEEN_MAX)];
}

function handlerOf(name: `test.${string}`, run: () => Promise<void>): Type {
  @Injectable()
  class InTurn {
    @OnDelay(name, { transactional: true })
    handle(): Promise<void> {
      return run();
    }
  }
  return InTurn;
}

/** While a name waits, each other one runs only so often before it has its turn. */
function* faultsOf(
  names: readonly string[],
  started: readonly string[],
  betweenMax: number,
): Iterable<string> {
  for (const waiting of names) {
    const last = started.lastIndexOf(waiting);
    const since = new Map<string, number>();
    for (const name of started.slice(0, last)) {
      if (name === waiting) {
        since.clear();
        continue;
      }
      const count = (since.get(name) ?? 0) + 1;
      since.set(name, count);
      if (count <= betweenMax) continue;
      yield `no turn: ${name} ran ${count} times in a row while ${waiting} waited`;
      break;
    }
  }
}

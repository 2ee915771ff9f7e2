import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type Type } from '@nestjs/common';
import {
  DelayService,
  OnDelay,
  type Delay,
  type DelayContext,
  type OnDelayOptions,
} from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { POISONED, type ProcessSetup } from '../processes/process.protocol.js';
import { noteEffects } from '../record/effect.js';
import { ACTS } from './acts.js';
import { batchHandlersOf } from './batch-handlers.js';
import { LIMITED, LIMITS, RATED } from './limits.js';
import { type ChaosName, nextRun, RARE } from './payloads.js';

/** One attempt, as the handlers below see it. */
interface Work {
  delay: Delay<ChaosName>;
  signal: AbortSignal;
  manager: EntityManager | undefined;
  delays: DelayService;
  /** Writes the effect down: within the attempt's transaction if it has one. */
  done: () => Promise<void>;
}

interface Served {
  options?: OnDelayOptions & { transactional?: boolean };
  work: (work: Work) => Promise<void>;
}

const ODD_TIMEOUT_MS = 1_000;

const once = ({ done }: Work): Promise<void> => done();

/** Fails before its effect, or after it when that can be undone. */
const odd = async (work: Work): Promise<void> => {
  const { delay, manager, done } = work;
  if (manager) await done();
  const act = ACTS[delay.payload.act ?? ''];
  await act?.({ attempt: delay.attempt, timeoutMs: ODD_TIMEOUT_MS, manager });
  if (!manager) await done();
};

/** Moves its own row on, as often as the payload says. */
const recurs = async ({ delay, delays, manager, done }: Work): Promise<void> => {
  await done();
  const { name, key } = delay;
  const payload = nextRun(delay.payload);
  if (payload && key !== null) await delays.schedule(name, payload, { after: 300, key, manager });
};

const SERVED: Readonly<Record<ChaosName, Served>> = {
  'chaos.plain': { work: once },
  'chaos.fenced': { options: { transactional: true }, work: once },
  [RARE]: { options: { transactional: true }, work: once },
  'chaos.slow': {
    // Longer than a lease: it has to be renewed.
    options: { timeout: '8s', concurrency: 20 },
    work: async ({ delay, signal, done }) => {
      const ms = Number(delay.payload.act ?? 0);
      await pause(ms, undefined, { signal });
      // Some fail once: a node that was stopped meanwhile must not be believed that, either.
      if (delay.attempt === 1 && ms % 3 === 0) throw new Error('once');
      await done();
    },
  },
  'chaos.slow-fenced': {
    options: { transactional: true },
    work: async ({ delay, signal, done }) => {
      // In the middle of its transaction when its process is stopped.
      await done();
      await pause(Number(delay.payload.act ?? 0), undefined, { signal });
    },
  },
  [LIMITED]: {
    options: LIMITS[LIMITED],
    work: async ({ delay, signal, done }) => {
      await pause(Number(delay.payload.act ?? 0), undefined, { signal });
      await done();
    },
  },
  [RATED]: { options: LIMITS[RATED], work: once },
  'chaos.odd': { options: { timeout: ODD_TIMEOUT_MS }, work: odd },
  'chaos.odd-fenced': { options: { timeout: ODD_TIMEOUT_MS, transactional: true }, work: odd },
  'chaos.poison': {
    work: async () => {
      writeSync(process.stderr.fd, `${POISONED}\n`);
      process.kill(process.pid, 'SIGKILL');
      await new Promise<void>(() => {});
    },
  },
  'chaos.recurring': { options: { transactional: true }, work: recurs },
  'chaos.recurring-plain': { work: recurs },
  'chaos.chain': {
    options: { transactional: true },
    work: async ({ delay, delays, manager, done }) => {
      await done();
      const { token } = delay.payload;
      const payload = { token: `${token}>1`, parent: token };
      await delays.schedule('chaos.plain', payload, { after: 200, manager });
    },
  },
};

/** All but those that this build does not know yet. */
export function handlersOf({
  nodeName,
  without = [],
}: Pick<ProcessSetup, 'nodeName' | 'without'>): Type[] {
  const single = Object.entries(SERVED).map(([name, served]): [name: string, handler: Type] => [
    name,
    handlerOf(name as ChaosName, served, nodeName),
  ]);
  return [...single, ...batchHandlersOf(nodeName)]
    .filter(([name]) => !without.includes(name))
    .map(([, handler]) => handler);
}

function handlerOf(name: ChaosName, { options = {}, work }: Served, node: string): Type {
  @Injectable()
  class ChaosHandler {
    constructor(
      private readonly dataSource: DataSource,
      private readonly delays: DelayService,
    ) {}

    // One method for both sorts: a plain handler is called without a manager.
    @OnDelay(name, options as OnDelayOptions & { transactional: true })
    async handle(
      delay: Delay<ChaosName>,
      { signal, manager }: DelayContext & { manager?: EntityManager },
    ): Promise<void> {
      const runner = manager ?? this.dataSource;
      const by = { node, fenced: manager !== undefined };
      const done = (): Promise<void> => noteEffects(runner, [delay], by);
      await work({ delay, signal, manager, delays: this.delays, done });
    }
  }
  return ChaosHandler;
}

import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type Type } from '@nestjs/common';
import {
  type Delay,
  type DelayContext,
  OnDelay,
  type OnDelayOptions,
  RepeatDelay,
} from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    /** What recurs in a chaos run. */
    [name: `clock.${string}`]: null;
  }
}

/** Names that every worker declares to recur: each instant has to be run, whoever was away then. */
export const CLOCKS = ['clock.plain', 'clock.fenced'] as const;
export const CLOCK_KEY = 'tick';
export const CLOCK_EVERY_MS = 1_000;

/** Long enough that a process is often stopped meanwhile. */
const PLAIN_TAKES_MS = 600;

/** Of so many instants the first attempt at one fails. */
const FAILS_ONCE_IN = 5;

const NOTE = `INSERT INTO chaos.tick (delay_id, name, due_at, node) VALUES ($1, $2, $3, $4)`;

/** Their handlers write down which instant they ran. */
export const clocksOf = (node: string): Type[] => CLOCKS.map((name) => clockOf(name, node));

function clockOf(name: (typeof CLOCKS)[number], node: string): Type {
  const options: OnDelayOptions = { transactional: name === 'clock.fenced' };

  @Injectable()
  class ChaosClock {
    constructor(private readonly dataSource: DataSource) {}

    @RepeatDelay(name, { every: CLOCK_EVERY_MS, catchUp: 'each', key: CLOCK_KEY, payload: null })
    // One method for both sorts: a plain handler is called without a manager.
    @OnDelay(name, options as OnDelayOptions & { transactional: true })
    async tick(
      delay: Delay,
      { manager }: DelayContext & { manager?: EntityManager },
    ): Promise<void> {
      const { attempt, dueAt } = delay;
      // It does not listen to the signal: a late one has to meet its successor.
      if (manager === undefined) await pause(PLAIN_TAKES_MS);
      const number = Math.floor(dueAt.getTime() / CLOCK_EVERY_MS);
      if (attempt === 1 && number % FAILS_ONCE_IN === 0) throw new Error('once');
      await (manager ?? this.dataSource).query(NOTE, [delay.id, name, dueAt, node]);
    }
  }
  return ChaosClock;
}

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
      await (manager ?? this.dataSource).query(NOTE, [delay.id, name, delay.dueAt, node]);
    }
  }
  return ChaosClock;
}

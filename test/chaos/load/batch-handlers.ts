import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type Type } from '@nestjs/common';
import {
  DelayService,
  DiscardDelay,
  OnDelay,
  type Delay,
  type DelayBatchContext,
  type Duration,
  type TransactionalDelayBatchContext,
} from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { noteEffects } from '../record/effect.js';
import { type ChaosName, nextRun, SPOILED, TAKE_ONE } from './payloads.js';

type Batched = Delay<ChaosName>;
type Spoiling = (typeof THROWING | typeof SPOILING)[number];

/** Others become due while one batch works, and are the next. */
const WORK_MS = 40;

/** What one delay does to the whole batch; alone it does so at its first attempt. */
export const THROWING = ['spoils before', 'spoils after'] as const;
export const SPOILING = ['swallows an SQL error', 'never returns'] as const;

/** What the handler says of that delay alone: an error, or how long it is to wait. */
const SAID: Readonly<Record<string, (attempt: number) => Error | Duration | undefined>> = {
  'fails at first': (attempt) => (attempt <= 2 ? new Error('at first') : undefined),
  postpones: () => (Math.random() < 0.6 ? '200ms' : undefined),
  discards: () => new DiscardDelay('not wanted any more'),
  'always fails': () => new Error('always'),
};

export const SAYING = Object.keys(SAID);

/** One call at a time on each node, so that one claim is one batch. */
export const batchHandlersOf = (node: string): [name: string, handler: Type][] => [
  ['chaos.batch', handlerOf('chaos.batch', false, node)],
  ['chaos.batch-fenced', handlerOf('chaos.batch-fenced', true, node)],
  ['chaos.batch-recurring', handlerOf('chaos.batch-recurring', true, node)],
];

function handlerOf(name: ChaosName, transactional: boolean, node: string): Type {
  @Injectable()
  class ChaosBatchHandler {
    constructor(
      private readonly dataSource: DataSource,
      private readonly delays: DelayService,
    ) {}

    // One call at a time: the checker relies on it.
    @OnDelay(name, {
      batch: 25,
      concurrency: 1,
      timeout: '2s',
      transactional: transactional as true,
    })
    async handle(delays: Batched[], ctx: TransactionalDelayBatchContext): Promise<void> {
      await pause(WORK_MS, undefined, { signal: ctx.signal });
      const isSpoiled = (act: Spoiling): boolean =>
        delays.some(({ attempt, payload }) => {
          return payload.act === act && (delays.length > 1 || attempt === 1);
        });
      const spoilt = (): Error => new Error(delays.length > 1 ? SPOILED : 'spoiled');
      if (isSpoiled('spoils before')) throw spoilt();
      if (isSpoiled('never returns')) await new Promise<void>(() => {});
      const done = withoutWord(delays, ctx);
      const by = { node, fenced: transactional };
      await noteEffects(transactional ? ctx.manager : this.dataSource, done, by);
      // All that go on, in one call.
      const next = done.flatMap(({ key, payload }) => {
        const following = nextRun(payload);
        return following && key !== null ? [{ name, payload: following, key, after: 300 }] : [];
      });
      await this.delays.scheduleMany(next, { manager: ctx.manager });
      if (isSpoiled('spoils after')) throw spoilt();
      // The transaction is aborted, and the handler pretends that all is well.
      if (isSpoiled('swallows an SQL error')) await ctx.manager?.query(TAKE_ONE).catch(() => {});
    }
  }
  return ChaosBatchHandler;
}

/** @returns those of which nothing was said */
function withoutWord(delays: readonly Batched[], ctx: DelayBatchContext): Batched[] {
  return delays.filter((delay) => {
    const word = SAID[delay.payload.act ?? '']?.(delay.attempt);
    if (word === undefined) return true;
    if (word instanceof Error) ctx.fail(delay, word);
    else ctx.postpone(delay, word);
    return false;
  });
}

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, type Type } from '@nestjs/common';
import {
  type Delay,
  type DelayContext,
  DelayService,
  OnDelay,
  type OnDelayOptions,
} from 'nestjs-delay-queue';
import {
  DataSource,
  type EntityManager,
  type EntitySubscriberInterface,
  type QueryRunner,
} from 'typeorm';
import { ChangedItsMind } from './answered.js';
import { REFUSED_SQL } from './journal.js';
import type { Player } from './player.js';
import { NAMES, type Name, type Script } from './program.js';
import type { HandlerCall, Record } from './record.js';

export const SENTINEL = 'test.sentinel';

/** Short, because some outlive it on purpose. */
const TIMEOUT_MS = 1_000;

/** A handler that was cut knows it by then, whatever the machine does. */
const CUT_WITHIN_MS = 30_000;

/** A script that moves its own delay on, or schedules more, would go on for ever: it has done enough by then. */
const RUNS_MAX = 20;

/** Handlers that do what their payload says. */
export class Handlers {
  /** Delays whose handler is at work, by id. */
  readonly working = new Map<string, number>();
  readonly sentinels = new Map<string, () => void>();
  /** How often each key was run; what has none, by id. */
  readonly #runs = new Map<string, number>();
  /** The application's: what fails in it at COMMIT it keeps to itself. */
  readonly subscriber: EntitySubscriberInterface = {
    beforeTransactionCommit: async ({ queryRunner }) => {
      if (!this.#spoilt.delete(queryRunner)) return;
      await queryRunner.query(REFUSED_SQL).catch(() => {});
    },
  };
  readonly #spoilt = new WeakSet<QueryRunner>();

  constructor(
    private readonly record: Record,
    private readonly player: Player,
  ) {}

  providers(): Type[] {
    const sentinels = this.sentinels;
    @Injectable()
    class Sentinel {
      @OnDelay(SENTINEL)
      handle({ payload }: Delay<typeof SENTINEL>): void {
        if (typeof payload === 'string') sentinels.get(payload)?.();
      }
    }
    return [Sentinel, ...NAMES.map((name) => this.#provider(name))];
  }

  #provider(name: Name): Type {
    const transactional = name !== 'test.plain';
    const options = { transactional, timeout: TIMEOUT_MS, backoff: { base: 30, max: 200 } };
    const run = this.run.bind(this);
    @Injectable()
    class Impolite {
      constructor(
        @Inject(DataSource) private readonly dataSource: DataSource,
        @Inject(DelayService) private readonly delays: DelayService,
      ) {}

      // One method for both sorts: a plain handler is called without a manager.
      @OnDelay(name, options as OnDelayOptions & { transactional: true })
      handle(delay: Delay<Name>, ctx: DelayContext & { manager?: EntityManager }): Promise<void> {
        return run(delay, ctx, this.dataSource, this.delays);
      }
    }
    return Impolite;
  }

  async run(
    delay: Delay<Name>,
    { signal, manager }: DelayContext & { manager?: EntityManager },
    dataSource: DataSource,
    delays: DelayService,
  ): Promise<void> {
    const { token, script } = delay.payload as unknown as { token: string; script: Script };
    const { record, working } = this;
    const { id, name, attempt } = delay;
    const key = `${name} ${delay.key ?? id}`;
    const runs = (this.#runs.get(key) ?? 0) + 1;
    this.#runs.set(key, runs);
    const steps = runs > RUNS_MAX ? [] : script.steps;
    const call: HandlerCall = {
      id,
      name,
      token,
      attempt,
      script,
      transactional: manager !== undefined,
      calledAt: record.moment(),
    };
    record.handlerCalls.push(call);
    const who = `attempt ${attempt} of ${name} ${id}`;
    const where = { who, delays, dataSource };
    const transaction = manager && record.begin(who, call);
    const within =
      manager && transaction
        ? { ...where, manager, transaction, scope: transaction.scope }
        : undefined;
    working.set(id, (working.get(id) ?? 0) + 1);
    try {
      if (within) await this.player.begin(within);
      await this.player.steps(steps, within ?? where);
      if (attempt > script.fails) {
        // From here on no transaction within it is in the way.
        if (script.spoilsCommit && attempt === 1 && manager?.queryRunner) {
          this.#spoilt.add(manager.queryRunner);
        }
        return;
      }
      if (script.how === 'lingers') await this.#outlive(signal, who);
      throw new ChangedItsMind('the attempt fails');
    } finally {
      if (transaction) transaction.overAt = record.moment();
      working.set(id, (working.get(id) ?? 1) - 1);
      // Nobody looks any more: what it does now may change nothing.
      if (within && script.how === 'lingers') {
        record.loosen(this.player.steps([{ is: 'write' }, { is: 'write' }], within));
      }
    }
  }

  async #outlive(signal: AbortSignal, who: string): Promise<void> {
    if (signal.aborted) return;
    const enough = new AbortController();
    const aborted = once(signal, 'abort', { signal: enough.signal }).then(() => true);
    const waited = pause(CUT_WITHIN_MS, false, { signal: enough.signal });
    const isCut = await Promise.race([aborted, waited]);
    enough.abort();
    await Promise.allSettled([aborted, waited]);
    if (!isCut) this.record.fault('hung', `${who} outlived its timeout and was never told`);
  }
}

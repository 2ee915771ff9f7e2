import { setTimeout as pause } from 'node:timers/promises';
import {
  DelayError,
  DelayOutcomeUnknownError,
  DelayRolledBackError,
  type DelayService,
  type RescheduleTo,
  type ScheduleItem,
  type ScheduleResult,
} from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import type { ClientLine, Verb } from '../record/client-line.js';
import type { ClientLog } from '../record/client-log.js';
import { type ChaosName, TAKE_ONE } from './payloads.js';
import type { Wish } from './wishes.js';

type Asked = Omit<Extract<ClientLine, { kind: 'invoke' }>, 'kind' | 'call' | 'inTransaction'>;

interface Answer {
  verdict: string;
  id?: string;
  dueAt?: Date;
}

/** One write within a transaction of the client's. */
export interface Step {
  asked: Asked;
  write: (manager: EntityManager) => Promise<Answer>;
}

/** Verdicts that a COMMIT has to make true. */
const WRITES: ReadonlySet<string> = new Set(['scheduled', 'replaced', 'rescheduled', 'cancelled']);

/** How a transaction is made of its steps; not everybody is polite. */
export interface Manners {
  /** Steps of a nested transaction that comes first, and to nothing. */
  undone: readonly Step[];
  areParallel: boolean;
  /** How long it stays open when all is written. */
  holdsMs: number;
  swallowsError: boolean;
  rollsBack: boolean;
}

interface Made {
  call: string;
  answer?: Answer;
  isUndone: boolean;
}

/** The client itself wants this transaction, or a part of it, to come to nothing. */
class ChangedItsMind extends Error {}

/** Calls the queue as an application does, and writes down what it asked and what it was told. */
export class Client {
  constructor(
    private readonly delays: DelayService,
    private readonly dataSource: DataSource,
    private readonly log: ClientLog,
  ) {}

  async schedule({ name, payload, options }: Wish): Promise<ScheduleResult | undefined> {
    const asked = askedFor({ name, payload, options });
    const [result] = await this.#told([asked], async () => [
      await this.delays.schedule(name, payload, options),
    ]);
    return result;
  }

  /** Each of them is a call of its own in the log. */
  async scheduleMany(wishes: readonly Wish[]): Promise<void> {
    await this.#told(wishes.map(askedFor), () => this.delays.scheduleMany(itemsOf(wishes)));
  }

  async cancel(name: ChaosName, key: string): Promise<void> {
    await this.#told([about('cancel', name, key)], async () => [
      await this.delays.cancel(name, key),
    ]);
  }

  async reschedule(name: ChaosName, key: string, to: RescheduleTo): Promise<void> {
    await this.#told([about('reschedule', name, key)], async () => [
      await this.delays.reschedule(name, key, to),
    ]);
  }

  async retryDead(name: ChaosName, key: string): Promise<void> {
    await this.#told([about('retryDead', name, key)], async () => [
      await this.delays.retryDead(name, key),
    ]);
  }

  /** A wish beside a row of the business: both, or neither. */
  scheduling({ name, payload, options }: Wish): Step {
    return {
      asked: askedFor({ name, payload, options }),
      write: async (manager) => {
        await manager.query('INSERT INTO chaos.business (token) VALUES ($1)', [payload.token]);
        return this.delays.schedule(name, payload, { ...options, manager });
      },
    };
  }

  cancelling(name: ChaosName, key: string): Step {
    return {
      asked: about('cancel', name, key),
      write: (manager) => this.delays.cancel(name, key, { manager }),
    };
  }

  rescheduling(name: ChaosName, key: string, to: RescheduleTo): Step {
    return {
      asked: about('reschedule', name, key),
      write: (manager) => this.delays.reschedule(name, key, to, { manager }),
    };
  }

  /** Before COMMIT goes out nothing can have happened; from then on only its answer tells. */
  async transaction(steps: readonly Step[], manners: Manners): Promise<void> {
    const calls: Made[] = [];
    let committing = false;
    try {
      await this.dataSource.transaction(async (manager) => {
        await this.#make(steps, manners, manager, calls);
        committing = true;
      });
    } catch (error) {
      // The server has said ROLLBACK, or nobody has sent it a COMMIT.
      const isKnown = !committing || error instanceof DelayRolledBackError;
      for (const { call, isUndone } of calls) {
        if (isKnown || isUndone) this.log.fail(call, error);
        else this.log.unknown(call, error);
      }
      return;
    }
    for (const { call, answer, isUndone } of calls) {
      if (isUndone) this.log.fail(call, new ChangedItsMind('undone to a savepoint'));
      // Nobody tells of it where the queue had nothing to write.
      else if (manners.swallowsError && !WRITES.has(answer?.verdict ?? ''))
        this.log.fail(call, new ChangedItsMind('an error was swallowed before COMMIT'));
      else if (answer) this.log.ok(call, lineOf(answer));
    }
  }

  async #make(
    steps: readonly Step[],
    { undone, areParallel, swallowsError, holdsMs, rollsBack }: Manners,
    manager: EntityManager,
    calls: Made[],
  ): Promise<void> {
    const make = async (within: EntityManager, { asked, write }: Step, isUndone: boolean) => {
      const made: Made = { call: this.log.invoke({ ...asked, inTransaction: true }), isUndone };
      calls.push(made);
      made.answer = await write(within);
    };
    if (undone.length > 0) {
      const nested = manager.transaction(async (within) => {
        for (const step of undone) await make(within, step, true);
        throw new ChangedItsMind('undone to a savepoint');
      });
      await nested.catch((error: unknown) => {
        if (!(error instanceof ChangedItsMind)) throw error;
      });
    }
    if (areParallel) {
      const made = await Promise.allSettled(steps.map((step) => make(manager, step, false)));
      for (const one of made) if (one.status === 'rejected') throw one.reason;
    } else {
      for (const step of steps) await make(manager, step, false);
    }
    if (holdsMs > 0) await pause(holdsMs);
    // The transaction is aborted, and the client pretends that all is well.
    if (swallowsError) await manager.query(TAKE_ONE).catch(() => {});
    if (rollsBack) throw new ChangedItsMind('rolled back on purpose');
  }

  async #told<Result extends Answer>(
    asked: readonly Asked[],
    ask: () => Promise<Result[]>,
  ): Promise<Result[]> {
    const calls = asked.map((each) => this.log.invoke({ ...each, inTransaction: false }));
    let results: Result[];
    try {
      results = await ask();
    } catch (error) {
      for (const call of calls) {
        // The library refuses before it writes, or rolls back before it says so.
        const isKnown = error instanceof DelayError && !(error instanceof DelayOutcomeUnknownError);
        if (isKnown) this.log.fail(call, error);
        else this.log.unknown(call, error);
      }
      return [];
    }
    for (const [index, result] of results.entries()) {
      this.log.ok(calls[index] as string, lineOf(result));
    }
    return results;
  }
}

const askedFor = ({ name, payload, options }: Wish): Asked => ({
  verb: 'schedule',
  name,
  key: options.key ?? null,
  token: payload.token,
});

const about = (verb: Verb, name: ChaosName, key: string): Asked => ({
  verb,
  name,
  key,
  token: null,
});

const itemsOf = (wishes: readonly Wish[]): ScheduleItem[] =>
  wishes.map(({ name, payload, options }) => ({ name, payload, ...options }));

const lineOf = ({ verdict, id, dueAt }: Answer) => ({
  verdict,
  id: id ?? null,
  dueMs: dueAt?.getTime() ?? null,
});

import {
  DelayError,
  DelayOutcomeUnknownError,
  type DelayService,
  type RescheduleTo,
  type ScheduleItem,
  type ScheduleResult,
} from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import type { ClientLine, Verb } from '../record/client-line.js';
import type { ClientLog } from '../record/client-log.js';
import type { ChaosName } from './payloads.js';
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

/** The client itself wants this transaction to come to nothing. */
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
  async transaction(steps: readonly Step[], rollsBack: boolean): Promise<void> {
    const calls: { call: string; answer?: Answer }[] = [];
    let committing = false;
    try {
      await this.dataSource.transaction(async (manager) => {
        for (const { asked, write } of steps) {
          const made: (typeof calls)[number] = {
            call: this.log.invoke({ ...asked, inTransaction: true }),
          };
          calls.push(made);
          made.answer = await write(manager);
        }
        if (rollsBack) throw new ChangedItsMind('rolled back on purpose');
        committing = true;
      });
    } catch (error) {
      for (const { call } of calls) {
        if (committing) this.log.unknown(call, error);
        else this.log.fail(call, error);
      }
      return;
    }
    for (const { call, answer } of calls) if (answer) this.log.ok(call, lineOf(answer));
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

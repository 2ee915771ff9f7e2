import { setTimeout as pause } from 'node:timers/promises';
import {
  type DelayAdmin,
  DelayError,
  DelayOutcomeUnknownError,
  DelayRolledBackError,
  type DelayService,
  type RescheduleTo,
} from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import type { Asked, ClientLog, Verb } from '../record/client-log.js';
import { LIMITED } from './limits.js';
import { type ChaosName, TAKE_ONE } from './payloads.js';
import type { Wish } from './wishes.js';

interface Told {
  verdict: string;
  id?: string;
  dueAt?: Date;
}

/** What a client may ask for, alone or within a transaction of its own. */
export interface Call {
  asked: Omit<Asked, 'inTransaction'>;
  write: (manager?: EntityManager) => Promise<Told>;
}

/** How a transaction is made of its calls; not everybody is polite. */
export interface Manners {
  /** Calls of a nested transaction that comes first, and to nothing. */
  undone: readonly Call[];
  areParallel: boolean;
  /** How long it stays open when all is written. */
  holdsMs: number;
  swallowsError: boolean;
  rollsBack: boolean;
}

interface Made {
  call: string;
  told?: Told;
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
    private readonly admin?: DelayAdmin,
  ) {}

  /** Within a transaction beside a row of the business: both, or neither. */
  scheduling(wish: Wish): Call {
    const { name, payload, options } = wish;
    return {
      asked: askedFor(wish),
      write: async (manager) => {
        await manager?.query('INSERT INTO chaos.business (token) VALUES ($1)', [payload.token]);
        return this.delays.schedule(name, payload, { ...options, manager });
      },
    };
  }

  cancelling(name: ChaosName, key: string): Call {
    return {
      asked: about('cancel', name, key),
      write: (manager) => this.delays.cancel(name, key, { manager }),
    };
  }

  /** What runs is ended first. */
  aborting(name: ChaosName, key: string): Call {
    return {
      asked: about('cancel', name, key),
      write: (manager) =>
        this.delays.cancel(name, key, { manager, running: 'abort', abortWithin: '2s' }),
    };
  }

  rescheduling(name: ChaosName, key: string, to: RescheduleTo): Call {
    return {
      asked: about('reschedule', name, key),
      write: (manager) => this.delays.reschedule(name, key, to, { manager }),
    };
  }

  retrying(name: ChaosName, key: string): Call {
    return {
      asked: about('retryDead', name, key),
      write: () => this.delays.retryDead(name, key),
    };
  }

  /** What became of it is for the database to say: a trigger notes each pause. */
  async pause(group: string | undefined, forMs: number): Promise<void> {
    const reason = 'chaos';
    await this.admin?.pause(LIMITED, { group, reason, for: forMs }).catch(() => {});
  }

  async resume(group: string | undefined): Promise<void> {
    await this.admin?.resume(LIMITED, { group }).catch(() => {});
  }

  async alone({ asked, write }: Call): Promise<Told | undefined> {
    const [told] = await this.#told([asked], async () => [await write()]);
    return told;
  }

  /** Each of them is a call of its own in the log. */
  async scheduleMany(wishes: readonly Wish[]): Promise<void> {
    const items = wishes.map(({ name, payload, options }) => ({ name, payload, ...options }));
    await this.#told(wishes.map(askedFor), () => this.delays.scheduleMany(items));
  }

  /** Before COMMIT goes out nothing can have happened; from then on only its answer tells. */
  async transaction(calls: readonly Call[], manners: Manners): Promise<void> {
    const { undone, areParallel, holdsMs, swallowsError, rollsBack } = manners;
    const made: Made[] = [];
    let committing = false;
    try {
      await this.dataSource.transaction(async (manager) => {
        if (undone.length > 0) await this.#undo(undone, manager, made);
        if (areParallel) await together(calls.map((call) => this.#make(call, manager, made)));
        else for (const call of calls) await this.#make(call, manager, made);
        if (holdsMs > 0) await pause(holdsMs);
        // The transaction is aborted, and the client pretends that all is well.
        if (swallowsError) await manager.query(TAKE_ONE).catch(() => {});
        if (rollsBack) throw new ChangedItsMind('rolled back on purpose');
        committing = true;
      });
    } catch (error) {
      // The server has said ROLLBACK, or nobody has sent it a COMMIT.
      const isKnown = !committing || error instanceof DelayRolledBackError;
      for (const { call, isUndone } of made) {
        if (isKnown || isUndone) this.log.fail(call, error);
        else this.log.unknown(call, error);
      }
      return;
    }
    for (const { call, told, isUndone } of made) {
      if (isUndone) this.log.fail(call, new ChangedItsMind('undone'));
      else if (told) this.#ok(call, told);
    }
  }

  async #undo(calls: readonly Call[], manager: EntityManager, made: Made[]): Promise<void> {
    try {
      await manager.transaction(async (nested) => {
        for (const call of calls) await this.#make(call, nested, made, true);
        throw new ChangedItsMind('undone to a savepoint');
      });
    } catch (error) {
      if (!(error instanceof ChangedItsMind)) throw error;
    }
  }

  async #make(
    { asked, write }: Call,
    manager: EntityManager,
    all: Made[],
    isUndone = false,
  ): Promise<void> {
    const made: Made = { call: this.log.invoke({ ...asked, inTransaction: true }), isUndone };
    all.push(made);
    made.told = await write(manager);
  }

  async #told(asked: readonly Call['asked'][], ask: () => Promise<Told[]>): Promise<Told[]> {
    const calls = asked.map((each) => this.log.invoke({ ...each, inTransaction: false }));
    try {
      const told = await ask();
      for (const [index, each] of told.entries()) this.#ok(calls[index] as string, each);
      return told;
    } catch (error) {
      // The library refuses before it writes, or rolls back before it says so.
      const isKnown = error instanceof DelayError && !(error instanceof DelayOutcomeUnknownError);
      for (const call of calls) {
        if (isKnown) this.log.fail(call, error);
        else this.log.unknown(call, error);
      }
      return [];
    }
  }

  #ok(call: string, { verdict, id, dueAt }: Told): void {
    this.log.ok(call, { verdict, id: id ?? null, dueMs: dueAt?.getTime() ?? null });
  }
}

/** All of them have ended when one of them has failed. */
async function together(calls: Promise<void>[]): Promise<void> {
  for (const made of await Promise.allSettled(calls)) {
    if (made.status === 'rejected') throw made.reason;
  }
}

const askedFor = ({ name, payload: { token }, options }: Wish): Call['asked'] => ({
  verb: 'schedule',
  name,
  key: options.key ?? null,
  token,
});

const about = (verb: Verb, name: ChaosName, key: string): Call['asked'] => ({
  verb,
  name,
  key,
  token: null,
});

import { setTimeout as pause } from 'node:timers/promises';
import { type DelayService, DelayUnstableError } from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import { answered, ChangedItsMind } from './answered.js';
import { foreignMessages } from './foreign.js';
import { REFUSED_SQL, WRITE_SQL, XID_SQL } from './journal.js';
import type { Call, Leaf, Slot, Step, Wish } from './program.js';
import type { Record, Scope, Told, Transaction, Write } from './record.js';

/** On whose behalf steps are played. */
export interface Where {
  who: string;
  delays: DelayService;
  dataSource: DataSource;
  /** Of the transaction; without one, everything is a transaction of its own. */
  manager?: EntityManager;
  transaction?: Transaction;
  scope?: Scope;
  /** Whoever began the transaction hears that another one has begun behind it. */
  chained?: (next: Transaction) => void;
}

/** What the surroundings can do for a step. */
export interface Surroundings {
  record: Record;
  /** Locks the row of that slot from outside, if it is free. @returns what lets it go */
  hold: (slot: Slot) => Promise<() => Promise<void>>;
}

type StepOf<Kind extends Step['is']> = Extract<Step, { is: Kind }>;
type Answers = NonNullable<Told['answers']>;

/** How long somebody else's lock is in the way: long enough for those who look without waiting. */
const HELD_MS = 25;

/** Plays scripts, and writes down what they were told. */
export class Player {
  constructor(private readonly around: Surroundings) {}

  async steps(steps: readonly Step[], where: Where): Promise<void> {
    let here = where;
    for (const step of steps) {
      if (step.is === 'chains') here = await this.#chains(step, here);
      else await this.#step(step, here);
    }
  }

  /** The transaction that the manager is in, as Postgres numbers it. */
  async begin(where: Where & { manager: EntityManager; transaction: Transaction }): Promise<void> {
    const [row] = await where.manager.query<{ xid: string }[]>(XID_SQL);
    where.transaction.xid = row?.xid;
  }

  /** @throws what the library throws */
  async call(call: Call, where: Where): Promise<void> {
    const { record } = this.around;
    const told: Told = {
      no: record.told.length + 1,
      call,
      who: where.who,
      tokens: wishesOf(call).map(() => record.token('t')),
      transaction: where.transaction,
      scope: where.scope,
      answers: undefined,
      error: undefined,
      askedAt: record.moment(),
      answeredAt: Infinity,
    };
    record.told.push(told);
    const what = `${told.who}: call ${told.no} (${call.verb})`;
    try {
      told.answers = await answered(record, what, () => perform(told, where));
    } catch (error) {
      told.error = error;
      throw error;
    } finally {
      told.answeredAt = record.moment();
    }
  }

  async #step(step: Exclude<Step, { is: 'chains' }>, where: Where): Promise<void> {
    switch (step.is) {
      case 'branches':
        return this.#branches(step, where);
      case 'nested':
        return this.#nested(step, where);
      case 'swallows':
        return void (await this.#query(REFUSED_SQL, where).catch(() => {}));
      case 'ends by hand':
        return void (await this.#query(step.by, where));
      case 'forgets':
        return void (await this.#query('DEALLOCATE ALL', where));
      case 'unawaited':
        return this.around.record.loosen(this.#branch(step.branch, where));
      case 'keeps manager':
        return this.#keeps(where);
      case 'foreign': {
        const { manager: _, transaction: _its, scope: _part, ...alone } = where;
        const stranger = { ...alone, who: `a stranger over a timer of ${where.who}` };
        return foreignMessages(this.around, () => this.call(step.call, stranger));
      }
      default:
        return this.#leaf(step, where);
    }
  }

  /** @returns where what comes next is played: in the next transaction */
  async #chains({ by, through }: StepOf<'chains'>, where: Where): Promise<Where> {
    const { manager, transaction, chained, who } = where;
    if (manager === undefined || transaction === undefined || chained === undefined) return where;
    try {
      const client: unknown = await manager.queryRunner?.connect();
      await (through === 'manager' ? manager : (client as Pick<EntityManager, 'query'>)).query(by);
      transaction.told = 'committed';
    } catch (error) {
      transaction.told = 'refused';
      transaction.error = error;
      throw error;
    } finally {
      transaction.overAt = this.around.record.moment();
    }
    const next = this.around.record.begin(who);
    chained(next);
    const there = { ...where, manager, transaction: next, scope: next.scope };
    await this.begin(there);
    return there;
  }

  async #leaf(leaf: Leaf, where: Where): Promise<void> {
    switch (leaf.is) {
      case 'write':
        return this.#write(where);
      case 'call':
        return this.call(leaf.call, where);
      case 'throws':
        throw new ChangedItsMind('a branch throws');
      case 'refused':
        return void (await this.#query(REFUSED_SQL, where));
      case 'waits':
        return pause(leaf.ms);
    }
  }

  async #branch(leaves: readonly Leaf[], where: Where): Promise<void> {
    for (const leaf of leaves) await this.#leaf(leaf, where);
  }

  async #branches({ branches, settled, held }: StepOf<'branches'>, where: Where): Promise<void> {
    const letGo = held && (await this.around.hold(held));
    const running = branches.map((leaves) => this.#branch(leaves, where));
    for (const branch of running) this.around.record.loosen(branch);
    const freed = letGo ? pause(HELD_MS).then(letGo) : undefined;
    try {
      if (settled) dieOfHold(await Promise.allSettled(running));
      else await Promise.all(running);
    } finally {
      await freed;
    }
  }

  async #nested({ steps, undone, byHand }: StepOf<'nested'>, where: Where): Promise<void> {
    const { manager } = where;
    if (manager === undefined) return this.steps(steps, where);
    const scope: Scope = { parent: where.scope, undone };
    let hasBegun = false;
    const play = async (inner: EntityManager): Promise<void> => {
      hasBegun = true;
      await this.steps(steps, { ...where, manager: inner, scope });
      if (undone) throw new ChangedItsMind('a nested transaction is undone');
    };
    try {
      await (byHand ? savepointByHand(manager, play) : manager.transaction(play));
    } catch (error) {
      scope.undone = true;
      if (isHold(error)) throw error;
      // The transaction around it goes on, as far as it can.
      if (!hasBegun && !byHand && where.transaction) where.transaction.isMangled = true;
    }
  }

  async #write(where: Where): Promise<void> {
    const { record } = this.around;
    const write: Write = {
      token: record.token('w'),
      transaction: where.transaction,
      scope: where.scope,
      xid: undefined,
      answeredAt: Infinity,
    };
    record.writes.push(write);
    const parameters = [write.token, writerOf(where)];
    const [row] = (await this.#query(WRITE_SQL, where, parameters)) as { xid: string }[];
    write.xid = row?.xid;
    write.answeredAt = record.moment();
  }

  #query(sql: string, where: Where, parameters: unknown[] = []): Promise<unknown> {
    const what = `${where.who}: a statement of its own`;
    return answered(this.around.record, what, () =>
      (where.manager ?? where.dataSource).query(sql, parameters),
    );
  }

  /** By the manager, and by the connection below it. */
  async #keeps(where: Where): Promise<void> {
    const { manager } = where;
    if (manager?.queryRunner === undefined) return;
    const { record } = this.around;
    const client = (await manager.queryRunner.connect()) as Pick<EntityManager, 'query'>;
    for (const kept of [manager, client]) {
      record.afterwards.push(() => kept.query(WRITE_SQL, [record.token('kept '), writerOf(where)]));
    }
  }
}

const writerOf = ({ transaction, who }: Where): string =>
  transaction ? String(transaction.no) : who;

const isHold = (error: unknown): boolean => error instanceof DelayUnstableError;

/**
 * Others hold what the call wants, and may wait for what this transaction holds. Each such call ends after
 * ten seconds; a caller who went on to the next one, again and again, would have what he asked for.
 */
function dieOfHold(branches: readonly PromiseSettledResult<void>[]): void {
  for (const branch of branches) {
    if (branch.status === 'rejected' && isHold(branch.reason)) throw branch.reason;
  }
}

async function savepointByHand(
  manager: EntityManager,
  play: (manager: EntityManager) => Promise<void>,
): Promise<void> {
  await manager.query('SAVEPOINT by_hand');
  try {
    await play(manager);
    // Refused as well, when an error was swallowed within.
    await manager.query('RELEASE SAVEPOINT by_hand');
  } catch (error) {
    await manager.query('ROLLBACK TO SAVEPOINT by_hand');
    // Else one of the same name around it could not be reached any more.
    await manager.query('RELEASE SAVEPOINT by_hand');
    throw error;
  }
}

/** What a call schedules. */
export const wishesOf = (call: Call): readonly Wish[] => {
  if (call.verb === 'schedule') return [call.wish];
  return call.verb === 'scheduleMany' ? call.wishes : [];
};

async function perform({ call, tokens }: Told, { delays, manager }: Where): Promise<Answers> {
  const within = manager === undefined ? {} : { manager };
  switch (call.verb) {
    case 'schedule': {
      const { name, options, payload } = asked(call.wish, tokens[0]);
      return [await delays.schedule(name, payload, { ...options, ...within })];
    }
    case 'scheduleMany': {
      const items = call.wishes.map((wish, index) => {
        const { name, payload, options } = asked(wish, tokens[index]);
        return { name, payload, ...options };
      });
      return delays.scheduleMany(items, within);
    }
    case 'find': {
      const found = await delays.find(call.slot.name, call.slot.key, within);
      return [{ verdict: found === null ? 'nothing' : found.state }];
    }
    case 'reschedule': {
      const { name, key } = call.slot;
      return [await delays.reschedule(name, key, { after: call.afterMs }, within)];
    }
    default:
      return [await delays[call.verb](call.slot.name, call.slot.key, within)];
  }
}

/** A wish as the library wants it. */
export function asked(wish: Wish, token = '') {
  const { name, script, afterMs, key, onConflict, running, maxAttempts } = wish;
  return {
    name,
    payload: { token, script: script as never },
    options: {
      after: afterMs,
      ...(key !== undefined && { key }),
      ...(onConflict && { onConflict }),
      ...(running && { running }),
      ...(maxAttempts !== undefined && { maxAttempts }),
    },
  };
}

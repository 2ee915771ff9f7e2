import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, DelayRolledBackError } from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import { SessionWatch } from '../../../src/delay-queue/core/database/session-watch.js';
import {
  AfterCommit,
  TransactionEnds,
  belongsInside,
  transactionNow,
} from '../../../src/delay-queue/core/transactions/commit-hooks.js';

/** A runner of TypeORM on a session, and what TypeORM tells its subscribers. */
class FakeRunner {
  isReleased = false;
  isTransactionActive = false;
  transactionDepth = 0;
  readonly databaseConnection: { connection: EventEmitter } | object;
  readonly manager = { queryRunner: this } as unknown as EntityManager;

  constructor(
    readonly dataSource: DataSource,
    private readonly isSeen: boolean,
  ) {
    this.databaseConnection = isSeen ? { connection: new EventEmitter() } : {};
    SessionWatch.beginIfConnected(this as never);
  }

  /** A statement of TypeORM's or of the caller's, and its answer. */
  async query(query: string, status: 'I' | 'T', tag = query): Promise<void> {
    this.asked(query);
    this.server(status, tag);
    await this.tellAll('afterQuery', { query, success: true });
  }

  asked(query: string, parameters?: object): void {
    for (const each of this.#subscribers) {
      each.beforeQuery({ queryRunner: this, query, parameters } as never);
    }
  }

  server(status: 'I' | 'T', tag?: string): void {
    if (!this.isSeen) return;
    const { connection } = this.databaseConnection as { connection: EventEmitter };
    if (tag !== undefined) connection.emit('commandComplete', { text: tag });
    connection.emit('readyForQuery', { status });
  }

  async begin(): Promise<void> {
    this.isTransactionActive = true;
    this.transactionDepth += 1;
    const isFirst = this.transactionDepth === 1;
    await this.query(isFirst ? 'START TRANSACTION' : 'SAVEPOINT typeorm_1', 'T');
  }

  /** @param tag what the server makes of it */
  async commit(tag?: string): Promise<void> {
    const isLast = this.transactionDepth === 1;
    if (isLast) await this.query('COMMIT', 'I', tag);
    else await this.query('RELEASE SAVEPOINT typeorm_1', 'T', 'RELEASE');
    this.#isOver();
    await this.tellAll('afterTransactionCommit', {});
  }

  async rollback(): Promise<void> {
    await this.tellAll('beforeTransactionRollback', {});
    const isLast = this.transactionDepth === 1;
    await this.query(isLast ? 'ROLLBACK' : 'ROLLBACK TO typeorm_1', isLast ? 'I' : 'T', 'ROLLBACK');
    this.#isOver();
    await this.tellAll('afterTransactionRollback', {});
  }

  async tellAll(
    event: 'afterQuery' | `${'before' | 'after'}Transaction${'Rollback' | 'Commit'}`,
    of: object,
  ): Promise<void> {
    const all = this.#subscribers.map((each) =>
      Reflect.apply(Reflect.get(each, event) ?? (() => {}), each, [{ queryRunner: this, ...of }]),
    );
    await Promise.all(all);
  }

  #isOver(): void {
    this.transactionDepth -= 1;
    this.isTransactionActive = this.transactionDepth > 0;
  }

  get #subscribers(): TransactionEnds[] {
    return [...this.dataSource.subscribers] as TransactionEnds[];
  }
}

let dataSource: DataSource;
let runner: FakeRunner;
let after: AfterCommit;
let told: string[];

beforeEach(() => {
  dataSource = { subscribers: [] } as unknown as DataSource;
  runner = new FakeRunner(dataSource, true);
  after = new AfterCommit(dataSource);
  after.start();
  told = [];
});

/** Leaves work of that name in the transaction of the runner. */
function leave(name: string, of: FakeRunner = runner, by: AfterCommit = after): void {
  by.onCommit(of.manager, (certain) => told.push(`${name} committed${certain ? '' : '?'}`));
  by.onRollback(of.manager, () => told.push(`${name} rolled back`));
}

describe('what is left in a transaction', () => {
  it('is done when it is committed, as soon as the server says so', async () => {
    await runner.begin();
    leave('a');
    runner.asked('COMMIT');
    expect(told).toEqual([]);
    runner.server('I', 'COMMIT');
    expect(told).toEqual(['a committed']);
  });

  it('is undone when it is rolled back', async () => {
    await runner.begin();
    leave('a');
    await runner.rollback();
    expect(told).toEqual(['a rolled back']);
  });

  it('is undone when its COMMIT is answered by ROLLBACK, and the caller is told', async () => {
    await runner.begin();
    leave('a');
    await expect(runner.commit('ROLLBACK')).rejects.toBeInstanceOf(DelayRolledBackError);
    expect(told).toEqual(['a rolled back']);
    await runner.begin();
    await runner.commit('ROLLBACK');
  });

  it('may stand, or be undone, when nothing is known of its end', async () => {
    await runner.begin();
    leave('a');
    (runner.databaseConnection as { connection: EventEmitter }).connection.emit('end');
    expect(told).toEqual(['a committed?', 'a rolled back']);
  });

  it('in plain SQL is known too, and its caller is told', async () => {
    await runner.query('BEGIN', 'T');
    leave('a');
    await runner.query('COMMIT', 'I');
    await runner.query('BEGIN', 'T');
    leave('b');
    await expect(runner.query('END', 'I', 'ROLLBACK')).rejects.toBeInstanceOf(DelayRolledBackError);
    expect(told).toEqual(['a committed', 'b rolled back']);
  });

  it('whose end came with the answer to its call is done at once', async () => {
    await runner.begin();
    const parameters = ['x'];
    belongsInside(parameters, transactionNow(runner as never));
    runner.asked('INSERT', parameters);
    runner.server('T', 'INSERT 0 1');
    runner.server('I', 'COMMIT');
    leave('a');
    expect(told).toEqual(['a committed']);
  });

  it('is refused when its turn comes behind that transaction', async () => {
    await runner.begin();
    const parameters = ['x'];
    belongsInside(parameters, transactionNow(runner as never));
    await runner.commit();
    await runner.begin();
    expect(() => runner.asked('INSERT', parameters)).toThrow(DelayInvalidError);
  });

  it('is done at once where there is none', () => {
    leave('a');
    after.onCommit(undefined, (certain) => told.push(`b ${certain}`));
    after.onRollback(undefined, () => told.push('never'));
    expect(told).toEqual(['a committed', 'b true']);
  });
});

describe('what is left inside a savepoint', () => {
  it('is undone with that, and the rest of the transaction is committed for all that is known', async () => {
    await runner.begin();
    leave('a');
    await runner.begin();
    leave('b');
    await runner.rollback();
    expect(told).toEqual(['b rolled back']);
    await runner.commit();
    expect(told).toEqual(['b rolled back', 'a committed?']);
  });

  it('belongs to the level above when that is released', async () => {
    await runner.begin();
    await runner.begin();
    leave('a');
    await runner.commit();
    await runner.begin();
    await runner.rollback();
    expect(told).toEqual([]);
    await runner.commit();
    expect(told).toEqual(['a committed?']);
  });

  it('knows nothing of what was rolled back before it was left', async () => {
    await runner.begin();
    const parameters = ['x'];
    belongsInside(parameters, transactionNow(runner as never));
    runner.asked('INSERT', parameters);
    await runner.begin();
    await runner.rollback();
    leave('a');
    await runner.commit();
    expect(told).toEqual(['a committed']);
  });
});

it('where the server’s messages cannot be seen TypeORM’s word counts, and is not certain', async () => {
  const blind = new FakeRunner(dataSource, false);
  leave('none', blind);
  expect(told).toEqual(['none committed?']);
  await blind.begin();
  leave('a', blind);
  await blind.commit();
  await blind.begin();
  leave('b', blind);
  await blind.rollback();
  expect(told.slice(1)).toEqual(['a committed?', 'b rolled back']);
});

const count = (): number => dataSource.subscribers.length;

describe('the subscriber', () => {
  it('is one for all applications, for as long as one of them runs', () => {
    const other = new AfterCommit(dataSource);
    other.start();
    expect(count()).toBe(1);
    other.stop();
    other.stop();
    expect([count(), SessionWatch.of(runner as never)]).toEqual([1, expect.anything()]);
    after.stop();
    expect([count(), SessionWatch.of(runner as never)]).toEqual([0, undefined]);
  });

  it('follows a transaction that was joined where no application runs, and leaves after it', async () => {
    after.stop();
    const blind = new FakeRunner(dataSource, false);
    await blind.begin();
    TransactionEnds.of(dataSource).leave(blind as never, {
      committed: () => told.push('committed'),
    });
    await blind.commit();
    expect([told, count()]).toEqual([['committed'], 1]);
    await turn();
    expect(count()).toBe(0);
  });

  it('stays until a transaction is over in which one was called, and does nothing for what has stopped', async () => {
    const other = new AfterCommit(dataSource);
    other.start();
    await runner.begin();
    leave('a');
    leave('b', runner, other);
    after.stop();
    other.stop();
    expect(count()).toBe(1);
    await expect(runner.commit('ROLLBACK')).rejects.toBeInstanceOf(DelayRolledBackError);
    await turn();
    expect(count()).toBe(0);
    expect(told).toEqual(['a rolled back', 'b rolled back']);
  });

  it('tells nothing of a commit to what has stopped', async () => {
    await runner.begin();
    leave('a');
    after.stop();
    await runner.commit();
    await turn();
    expect([told, count()]).toEqual([[], 0]);
  });

  it('comes back into a new list, as long as an application runs', () => {
    const ends = TransactionEnds.of(dataSource);
    Reflect.set(dataSource, 'subscribers', []);
    ends.stay();
    expect(count()).toBe(1);
    after.stop();
    Reflect.set(dataSource, 'subscribers', []);
    ends.stay();
    expect(count()).toBe(0);
  });
});

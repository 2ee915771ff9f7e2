import type { PoolClient, QueryResult } from 'pg';
import type { QueryRunner } from 'typeorm';
import { DelayInvalidError, DelayTransactionOverError } from '../api/errors.js';
import { transactionDepth } from './commit-hooks.js';
import { EngineSide } from './handler-context.js';
import {
  clientCommitting,
  HandlersClient,
  NOT_THE_HANDLERS,
  rethrow,
  wasEnded,
  withMethods,
} from './handlers-client.js';

/**
 * Guards an attempt's transaction against its handler. The handler may write and begin nested
 * transactions (savepoints), which it has to end. It may not end the outermost transaction or the
 * connection. Once its attempt is decided, all that it sends is refused: by manager, repository,
 * query builder, runner, or raw client.
 */
export class TransactionGuard {
  /**
   * Tells the engine's statements from the handler's. The two share the runner, because the
   * application's subscribers know the transaction by its runner. What a subscriber does at COMMIT
   * is part of the COMMIT.
   */
  readonly #engine = new EngineSide();
  readonly #handlers: HandlersClient;
  /** Nested transactions of the handler that are not ended. */
  #open = 0;
  /** Statements of the handler that are not answered. */
  #running = 0;
  #isOver = false;
  /** Replaces TypeORM's COMMIT, once: a subscriber may send another one behind it. */
  #sendsCommit: (() => Promise<QueryResult>) | undefined;
  /** The application has replaced a method of its runners. */
  readonly isWrapped: boolean;
  #release: () => Promise<void> = () => Promise.resolve();

  /** @param isEnded whether the server has reported the end of the attempt's transaction */
  constructor(
    private readonly runner: QueryRunner,
    private readonly client: PoolClient,
    private readonly isEnded: () => boolean,
  ) {
    this.isWrapped =
      Object.hasOwn(runner, 'startTransaction') || Object.hasOwn(runner, 'commitTransaction');
    this.#handlers = new HandlersClient(client, isEnded);
    this.#guardStatements();
    this.#guardTransactions();
    this.#guardRelease();
  }

  /** Libraries release what they think that they have borrowed. */
  get handlersClient(): PoolClient {
    return withMethods(this.#handlers.facade, { release: () => {} });
  }

  byEngine<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#engine.run(work);
  }

  /**
   * Lets TypeORM commit the attempt's transaction, with its COMMIT replaced.
   */
  async commitBy(work: () => Promise<void>, instead: () => Promise<QueryResult>): Promise<void> {
    this.#sendsCommit = instead;
    try {
      await this.byEngine(work);
    } finally {
      this.#sendsCommit = undefined;
    }
  }

  /** The attempt is decided: nothing of the handler is sent from now on. */
  seal(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handlers.seal();
  }

  /**
   * Ends the handler's part, once its statement in flight is answered.
   * @returns the reason not to commit, if any, and whether the connection is still usable
   */
  async end(hasResolved: boolean): Promise<{ objection: Error | undefined; isUsable: boolean }> {
    // Work begun and not awaited gets this far, unless it waits for something else first.
    if (hasResolved) await new Promise<void>((resolve) => process.nextTick(resolve));
    const whole = this.#unlessBroken();
    const objection = this.#unlessBusy() ?? whole;
    this.seal();
    const isQuiet = this.#handlers.isBusy ? await this.#handlers.quiet() : true;
    return { objection, isUsable: isQuiet && whole === undefined };
  }

  /**
   * Leaves the runner unreleased in TypeORM's eyes, which would refuse later calls with an error of
   * its own: the guard refuses them all.
   */
  async release(): Promise<void> {
    this.seal();
    const released = this.#release();
    Object.assign(this.runner, { isReleased: false });
    await released;
  }

  get #isEngine(): boolean {
    return this.#engine.isCurrent;
  }

  #unlessBusy(): Error | undefined {
    return this.#running > 0 || this.#handlers.isBusy
      ? new DelayInvalidError(
          'manager',
          'the handler returned before one of its statements was answered: await it',
        )
      : undefined;
  }

  /** A transaction that the handler left open, or ended, goes with the connection. */
  #unlessBroken(): Error | undefined {
    if (this.#open > 0 || transactionDepth(this.runner) > 1) {
      return new DelayInvalidError(
        'manager',
        'the handler returned while a transaction that it began was open: await it, or end it',
      );
    }
    // If the handler swallows an error and no savepoint can be made, TypeORM rolls back everything.
    if (!this.runner.isTransactionActive || this.isEnded()) return wasEnded();
    return undefined;
  }

  #guardStatements(): void {
    const { runner } = this;
    const query = runner.query.bind(runner) as (...all: unknown[]) => Promise<unknown>;
    const stream = runner.stream.bind(runner);
    // Made once: each `resolve` of a Proxy asks it whether it is a promise.
    let ofEngine: Promise<PoolClient> | undefined;
    const ofHandler = Promise.resolve(this.#handlers.facade);
    const own = {
      connect: () => {
        if (this.#isEngine) {
          const sendCommit = (): Promise<QueryResult> => this.#sendCommit();
          return (ofEngine ??= Promise.resolve(clientCommitting(this.client, sendCommit)));
        }
        return this.#isOver ? Promise.reject(new DelayTransactionOverError()) : ofHandler;
      },
      query: (...all: unknown[]) => this.#of(() => query(...all)),
      stream: (...all: Parameters<QueryRunner['stream']>) => this.#of(() => stream(...all)),
    };
    Object.assign(runner, own);
  }

  async #sendCommit(): Promise<QueryResult> {
    const instead = this.#sendsCommit;
    if (instead === undefined) return this.client.query('COMMIT');
    const answer = await instead();
    this.#sendsCommit = undefined;
    return answer;
  }

  #guardTransactions(): void {
    const { runner } = this;
    const startTransaction = runner.startTransaction.bind(runner);
    const commitTransaction = runner.commitTransaction.bind(runner);
    const rollbackTransaction = runner.rollbackTransaction.bind(runner);
    const end = (ends: () => Promise<void>) => () => (this.#isEngine ? ends() : this.#end(ends));
    runner.startTransaction = (level) =>
      this.#isEngine
        ? startTransaction(level)
        : this.#ofHandler(() => this.#begin(startTransaction, level));
    runner.commitTransaction = end(commitTransaction);
    runner.rollbackTransaction = end(rollbackTransaction);
  }

  #guardRelease(): void {
    const { runner } = this;
    this.#release = runner.release.bind(runner);
    runner.release = () => this.#ofHandler(() => Promise.reject(notTheHandlers()));
  }

  #of<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#isEngine ? work().catch(rethrow) : this.#ofHandler(work);
  }

  async #ofHandler<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isOver) throw new DelayTransactionOverError();
    this.#running += 1;
    try {
      return await work();
    } catch (error) {
      return rethrow(error);
    } finally {
      this.#running -= 1;
    }
  }

  async #begin(
    startTransaction: QueryRunner['startTransaction'],
    ...level: Parameters<QueryRunner['startTransaction']>
  ): Promise<void> {
    const before = transactionDepth(this.runner);
    // Counted now: a handler that does not await it may return before it has begun.
    this.#open += 1;
    try {
      await startTransaction(...level);
    } catch (error) {
      // If a subscriber throws, the transaction has begun, and TypeORM ends it.
      if (transactionDepth(this.runner) === before) this.#open -= 1;
      throw error;
    }
  }

  #end(end: () => Promise<void>): Promise<void> {
    return this.#ofHandler(async () => {
      if (this.#open === 0) throw notTheHandlers();
      await end();
      this.#open -= 1;
    });
  }
}

const notTheHandlers = (): Error => new DelayInvalidError('manager', NOT_THE_HANDLERS);

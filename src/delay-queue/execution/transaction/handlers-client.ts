import type { PoolClient } from 'pg';
import { DelayInvalidError, DelayTransactionOverError } from '../../delay/delay.errors.js';
import { clientWith } from './client-with.js';
import { transactionEndIn } from '../../producer/transaction/transaction-end.js';

/** Why a handler may not end the transaction, or give away the connection, that it was given. */
export const NOT_THE_HANDLERS =
  'the transaction belongs to the attempt: return to commit it, throw to roll it back';

type Callback = (error: unknown, result?: unknown) => void;
type Call = [config: unknown, values: unknown, callback: unknown];

/** An object that `pg` lets talk to the connection directly: a query of `pg`'s own class, a cursor, a stream. */
interface Submittable {
  submit: unknown;
  handleError: (error: unknown, connection: unknown) => void;
  handleReadyForQuery: (connection: unknown) => void;
}

interface Statement {
  /** Whether its answers come by themselves; a cursor has to be read to its end. */
  endsByItself: boolean;
  send: () => void;
  refuse: (error: unknown) => void;
}

/**
 * The connection of a transactional attempt as its handler sees it. One statement at a time goes to the real
 * client. The others wait in here, where they can still be refused: a statement in the client's own queue is
 * sent, whatever became of the attempt. After the seal all statements are refused.
 */
export class HandlersClient {
  /** What the handler gets instead of the client. */
  readonly facade: PoolClient;
  readonly #query: (...call: Call) => unknown;
  readonly #waiting: Statement[] = [];
  #sent: Statement | undefined;
  #isSealed = false;
  #onQuiet: (() => void) | undefined;

  constructor(client: PoolClient) {
    this.#query = client.query.bind(client);
    this.facade = clientWith(client, {
      query: (...call: Call) => this.#take(client, call),
      connect: forbidden,
      end: forbidden,
      release: forbidden,
    });
  }

  /** A statement is on its way. */
  get isBusy(): boolean {
    return this.#sent !== undefined;
  }

  seal(): void {
    this.#isSealed = true;
    for (const statement of this.#waiting.splice(0)) {
      statement.refuse(new DelayTransactionOverError());
    }
  }

  /**
   * Resolves when the statement on its way has been answered.
   * @returns false when that may never happen: the handler would have to read its cursor to the end
   */
  async quiet(): Promise<boolean> {
    if (this.#sent === undefined) return true;
    if (!this.#sent.endsByItself) return false;
    await new Promise<void>((resolve) => {
      this.#onQuiet = resolve;
    });
    return true;
  }

  /** `pg` takes a statement in three ways: it answers a promise, calls a callback, or takes a Submittable. */
  #take(client: PoolClient, call: Call): unknown {
    const [config] = call;
    if (isSubmittable(config)) {
      this.#enqueue(config, this.#submission(client, config, call));
      return config;
    }
    const callback = callbackOf(call);
    if (callback !== undefined) {
      this.#enqueue(config, this.#question(call, callback));
      return undefined;
    }
    const answered = new Promise((resolve, reject) => {
      const answer: Callback = (error, result) => (error ? reject(error) : resolve(result));
      this.#enqueue(config, this.#question(call, answer));
    });
    return answered.catch((error: unknown) => {
      // As `pg` does: a stack that leads to the code that sent the statement, not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    });
  }

  #question([config, values]: Call, callback: Callback): Statement {
    const statement: Statement = {
      endsByItself: true,
      send: () => {
        const answered: Callback = (error, result) => {
          this.#ended(statement);
          callback(error, result);
        };
        this.#query(config, typeof values === 'function' ? undefined : values, answered);
      },
      // Later, as an answer would be.
      refuse: (error) => process.nextTick(callback, error),
    };
    return statement;
  }

  #submission(client: PoolClient, config: Submittable, call: Call): Statement {
    const statement: Statement = {
      endsByItself: false,
      send: () => {
        for (const end of ['handleReadyForQuery', 'handleError'] as const) {
          const original = config[end] as ((...told: unknown[]) => void) | undefined;
          config[end] = (...told: unknown[]) => {
            this.#ended(statement);
            original?.apply(config, told);
          };
        }
        this.#query(...call);
      },
      refuse: (error) => {
        const { connection } = client as unknown as { connection: unknown };
        process.nextTick(() => config.handleError(error, connection));
      },
    };
    return statement;
  }

  #enqueue(config: unknown, statement: Statement): void {
    const refusal = this.#isSealed ? new DelayTransactionOverError() : refusalOf(config);
    if (refusal !== undefined) statement.refuse(refusal);
    else if (this.#sent !== undefined) this.#waiting.push(statement);
    else this.#send(statement);
  }

  #send(statement: Statement): void {
    this.#sent = statement;
    try {
      statement.send();
    } catch (error) {
      // `pg` itself throws for a statement without a text, or a callback that is no function.
      statement.refuse(error);
      this.#ended(statement);
    }
  }

  #ended(statement: Statement): void {
    if (this.#sent !== statement) return;
    this.#sent = undefined;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#send(next);
    else this.#onQuiet?.();
  }
}

function forbidden(): never {
  throw new DelayInvalidError('manager', NOT_THE_HANDLERS);
}

const isSubmittable = (config: unknown): config is Submittable =>
  typeof config === 'object' &&
  config !== null &&
  'submit' in config &&
  typeof config.submit === 'function';

function callbackOf([config, values, callback]: Call): Callback | undefined {
  if (typeof callback === 'function') return callback as Callback;
  if (typeof values === 'function') return values as Callback;
  const own: unknown =
    typeof config === 'object' && config !== null && 'callback' in config && config.callback;
  return typeof own === 'function' ? (own as Callback) : undefined;
}

/** TypeORM's own savepoints are fine; the end of the transaction is the engine's alone to write. */
function refusalOf(config: unknown): DelayInvalidError | undefined {
  const text: unknown =
    typeof config === 'object' && config !== null && 'text' in config ? config.text : config;
  const end = typeof text === 'string' ? transactionEndIn(text) : undefined;
  return end === undefined
    ? undefined
    : new DelayInvalidError('manager', `${end} was not sent: ${NOT_THE_HANDLERS}`);
}

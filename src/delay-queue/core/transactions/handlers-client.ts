import type { PoolClient, QueryResult } from 'pg';
import {
  DelayError,
  DelayInvalidError,
  DelayLeaseLostError,
  DelayRolledBackError,
  DelayTransactionOverError,
} from '../api/errors.js';
import type { Wire } from './begin-ahead.js';
import { transactionEndIn } from './transaction-end.js';

export function withMethods<Its extends object>(its: Its, methods: Record<string, unknown>): Its {
  return new Proxy(its, {
    get(target, name) {
      if (typeof name === 'string' && Object.hasOwn(methods, name)) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The same client, with its COMMIT replaced. */
export function clientCommitting(client: PoolClient, instead: () => Promise<unknown>): PoolClient {
  const query = client.query.bind(client) as unknown as (...all: unknown[]) => unknown;
  return withMethods(client, {
    query: (...all: unknown[]) => (all[0] === 'COMMIT' ? instead() : query(...all)),
  });
}

/** After an error in the transaction, the server answers COMMIT with ROLLBACK and no error. */
export function committed(answer: QueryResult): QueryResult {
  if (answer.command !== 'COMMIT') throw new DelayRolledBackError();
  return answer;
}

/** Whether a COMMIT that failed with this error certainly did not happen. */
export const isRolledBack = (error: unknown): boolean =>
  error instanceof DelayRolledBackError || error instanceof DelayLeaseLostError;

/** TypeORM wraps every error that a client throws. */
export function rethrow(error: unknown): never {
  const cause: unknown =
    error instanceof Error && 'driverError' in error ? error.driverError : undefined;
  throw cause instanceof DelayError ? cause : error;
}

/** By the server's last answer; older versions of `pg` did not keep it. */
export function isHandlersTransaction(client: PoolClient): boolean {
  const { getTransactionStatus } = client as { getTransactionStatus?: () => string | null };
  const status = getTransactionStatus?.call(client);
  return status === 'T' || status === 'E';
}

/** However it ended, the claim no longer protects what the handler did. */
export const wasEnded = (): DelayInvalidError =>
  new DelayInvalidError('manager', 'the transaction was ended while the handler ran');

/** Why a handler may not end its transaction or release its connection. */
export const NOT_THE_HANDLERS =
  'the transaction belongs to the attempt: return to commit it, throw to roll it back';

type Callback = (error: unknown, result?: unknown) => void;
type QueryCall = [config: unknown, values: unknown, callback: unknown];

/** An object that talks to `pg`'s connection directly: a `pg` query, a cursor, a stream. */
interface Submittable {
  submit: (connection: Wire) => unknown;
  handleError: (error: unknown, connection: unknown) => void;
  handleReadyForQuery: (connection: unknown) => void;
}

interface Statement {
  /** Whether its answers arrive without reading; a cursor has to be read to its end. */
  endsByItself: boolean;
  /** As given; the caller may replace its text while it waits. */
  config: unknown;
  send: () => void;
  refuse: (error: unknown) => void;
}

/**
 * The connection of a transactional attempt, as its handler sees it. Statements go to the real
 * client one at a time; the others wait here, where they can still be refused. In the client's own
 * queue they would be sent, whatever became of the attempt. After `seal`, all are refused.
 */
export class HandlersClient {
  readonly facade: PoolClient;
  readonly #query: (...call: QueryCall) => unknown;
  readonly #waiting: Statement[] = [];
  #sent: Statement | undefined;
  #isSealed = false;
  #onQuiet: (() => void) | undefined;

  /** @param isEnded the server ended the attempt's transaction: later writes would be kept */
  constructor(
    private readonly client: PoolClient,
    private readonly isEnded: () => boolean,
  ) {
    this.#query = client.query.bind(client);
    this.facade = withMethods(client, {
      query: (...call: QueryCall) => this.#take(call),
      connect: forbidden,
      end: forbidden,
      release: forbidden,
    });
  }

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
   * Resolves when the statement in flight is answered.
   * @returns false if that may never happen: the handler would have to read its cursor to the end
   */
  async quiet(): Promise<boolean> {
    if (this.#sent === undefined) return true;
    if (!this.#sent.endsByItself) return false;
    await new Promise<void>((resolve) => {
      this.#onQuiet = resolve;
    });
    return true;
  }

  /** `pg` takes a statement in three ways: with a promise, a callback, or as a Submittable. */
  #take(call: QueryCall): unknown {
    const [config] = call;
    if (isSubmittable(config)) {
      this.#enqueue(this.#submission(config, call));
      return config;
    }
    const callback = findCallback(call);
    if (callback !== undefined) {
      this.#enqueue(this.#question(call, callback));
      return undefined;
    }
    const answered = new Promise((resolve, reject) => {
      const answer: Callback = (error, result) => (error ? reject(error) : resolve(result));
      this.#enqueue(this.#question(call, answer));
    });
    return answered.catch((error: unknown) => {
      // Like `pg`, lead the stack to the code that sent the statement, not to the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    });
  }

  #question([config, values]: QueryCall, callback: Callback): Statement {
    const statement: Statement = {
      endsByItself: true,
      config,
      send: () => {
        const answered: Callback = (error, result) => {
          this.#ended(statement);
          callback(error, result);
        };
        this.#query(config, typeof values === 'function' ? undefined : values, answered);
      },
      // Later, as a real answer would come.
      refuse: (error) => process.nextTick(callback, error),
    };
    return statement;
  }

  #submission(config: Submittable, call: QueryCall): Statement {
    const statement: Statement = {
      endsByItself: false,
      config,
      send: () => {
        const restores = ENDS.map((end) => {
          const original = config[end] as ((...told: unknown[]) => void) | undefined;
          return replaced(config, end, (...told: unknown[]) => {
            for (const restore of restores) restore();
            this.#ended(statement);
            original?.apply(config, told);
          });
        });
        if (statementText(config) === undefined) restores.push(submitsNoEnd(config));
        this.#query(...call);
      },
      refuse: (error) => process.nextTick(() => config.handleError(error, this.#connection)),
    };
    return statement;
  }

  #enqueue(statement: Statement): void {
    const refusal = this.#isSealed
      ? new DelayTransactionOverError()
      : this.#refusalOf(statement.config);
    if (refusal !== undefined) statement.refuse(refusal);
    else if (this.#sent !== undefined) this.#waiting.push(statement);
    else this.#send(statement);
  }

  #send(statement: Statement): void {
    this.#sent = statement;
    try {
      const refusal = this.#refusalOf(statement.config);
      if (refusal === undefined) return statement.send();
      statement.refuse(refusal);
    } catch (error) {
      // `pg` itself throws for a statement without a text, or an invalid callback.
      statement.refuse(error);
    }
    this.#ended(statement);
  }

  #ended(statement: Statement): void {
    if (this.#sent !== statement) return;
    this.#sent = undefined;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#send(next);
    else this.#onQuiet?.();
  }

  /** Allows TypeORM's savepoints. Only the engine may end the transaction. */
  #refusalOf(config: unknown): DelayInvalidError | undefined {
    if (this.isEnded()) return wasEnded();
    return refusedEnd(statementText(config) ?? this.#preparedAs(config));
  }

  /** A named statement that the session has prepared needs no text. */
  #preparedAs(config: unknown): unknown {
    const name = readMember(config, 'name');
    const known = readMember(this.#connection, 'parsedStatements');
    return typeof name === 'string' ? readMember(known, name) : undefined;
  }

  get #connection(): unknown {
    return readMember(this.client, 'connection');
  }
}

const ENDS = ['handleReadyForQuery', 'handleError'] as const;

/** @returns a function that restores the method, unless it was replaced since */
function replaced(its: Submittable, method: keyof Submittable, by: unknown): () => void {
  const original = Object.getOwnPropertyDescriptor(its, method);
  Object.defineProperty(its, method, { configurable: true, writable: true, value: by });
  return () => {
    if (its[method] !== by) return;
    if (original === undefined) Reflect.deleteProperty(its, method);
    else Object.defineProperty(its, method, original);
  };
}

/** If its text is hidden, checks each text that it sends over the connection. */
function submitsNoEnd(config: Submittable): () => void {
  const submit = config.submit.bind(config);
  return replaced(config, 'submit', (connection: Wire) => {
    let refusal: DelayInvalidError | undefined;
    const unlessEnd = (text: unknown, send: () => unknown): unknown => {
      refusal ??= refusedEnd(text);
      return refusal === undefined ? send() : undefined;
    };
    const heard = withMethods(connection, {
      query: (text: unknown) => unlessEnd(text, () => connection.query(text)),
      parse: (...all: Parameters<Wire['parse']>) =>
        unlessEnd(all[0].text, () => connection.parse(...all)),
    });
    const error = submit(heard);
    return refusal ?? error;
  });
}

function forbidden(): never {
  throw new DelayInvalidError('manager', NOT_THE_HANDLERS);
}

const isSubmittable = (config: unknown): config is Submittable =>
  typeof config === 'object' &&
  config !== null &&
  'submit' in config &&
  typeof config.submit === 'function';

function findCallback([config, values, callback]: QueryCall): Callback | undefined {
  if (typeof callback === 'function') return callback as Callback;
  if (typeof values === 'function') return values as Callback;
  const own: unknown =
    typeof config === 'object' && config !== null && 'callback' in config && config.callback;
  return typeof own === 'function' ? (own as Callback) : undefined;
}

function readMember(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? Reflect.get(of, name) : undefined;
}

/** The text of a statement in any form that `pg` takes; a stream keeps it in its cursor. */
function statementText(config: unknown): string | undefined {
  const texts = [
    config,
    readMember(config, 'text'),
    readMember(readMember(config, 'cursor'), 'text'),
  ];
  return texts.find((text): text is string => typeof text === 'string');
}

function refusedEnd(text: unknown): DelayInvalidError | undefined {
  const end = typeof text === 'string' ? transactionEndIn(text) : undefined;
  return end === undefined
    ? undefined
    : new DelayInvalidError('manager', `${end} was not sent: ${NOT_THE_HANDLERS}`);
}

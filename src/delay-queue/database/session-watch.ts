import type { QueryRunner } from 'typeorm';

/** What `pg` reads from the server, message by message; `pg-native` has no such thing. */
interface Messages {
  on(message: 'commandComplete', listener: (told: { text: string }) => void): void;
  on(message: 'readyForQuery', listener: (told: { status: string }) => void): void;
}

export type TransactionEnd = 'committed' | 'rolled back';

/** By `pg`'s connection, since several clients may share one connection. */
const watches = new WeakMap<object, SessionWatch>();
const byRunner = new WeakMap<QueryRunner, SessionWatch>();

/**
 * What became of a session's transactions, as the server says it. The watch listens, and sends nothing. A
 * COMMIT of a transaction in which a statement had failed is answered by ROLLBACK, and nobody else looks.
 */
export class SessionWatch {
  #isOpen = true;
  #tag: string | undefined;
  #rollbacks = 0;
  #end: TransactionEnd | undefined;
  #onOver: ((end: TransactionEnd) => void)[] = [];

  /**
   * Watches the runner's session from now on; to be called before a statement whose end matters. Begins at once
   * where the runner is connected, so that no other statement goes out first.
   */
  static begin(runner: QueryRunner): Promise<void> | undefined {
    if (runner.isReleased || byRunner.has(runner)) return undefined;
    const client: unknown = Reflect.get(runner, 'databaseConnection');
    if (client === undefined) return runner.connect().then((made) => watch(runner, made));
    watch(runner, client);
    return undefined;
  }

  /** Undefined where the server's messages cannot be seen. */
  static of(runner: QueryRunner): SessionWatch | undefined {
    return byRunner.get(runner);
  }

  constructor(messages: Messages) {
    messages.on('commandComplete', ({ text }) => this.#completed(text));
    messages.on('readyForQuery', ({ status }) => this.#ready(status));
  }

  /** Whether a transaction is open, however it was begun. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** How often something was rolled back so far: a transaction, or a part of one to a savepoint. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /** How the last transaction ended; undefined while one is open. */
  get end(): TransactionEnd | undefined {
    return this.#end;
  }

  /** Told once, when the open transaction is over. */
  onOver(listener: (end: TransactionEnd) => void): void {
    this.#onOver.push(listener);
  }

  #completed(tag: string): void {
    this.#tag = tag;
    if (tag === 'ROLLBACK') this.#rollbacks += 1;
  }

  #ready(status: string): void {
    const tag = this.#tag;
    this.#tag = undefined;
    const wasOpen = this.#isOpen;
    this.#isOpen = status !== 'I';
    if (this.#isOpen) this.#end = undefined;
    else if (wasOpen) this.#over(tag === 'COMMIT' ? 'committed' : 'rolled back');
  }

  #over(end: TransactionEnd): void {
    this.#end = end;
    const listeners = this.#onOver;
    this.#onOver = [];
    for (const listener of listeners) listener(end);
  }
}

function watch(runner: QueryRunner, client: unknown): void {
  const messages = messagesOf(client);
  if (messages === undefined) return;
  const session = watches.get(messages) ?? new SessionWatch(messages);
  watches.set(messages, session);
  byRunner.set(runner, session);
}

function messagesOf(client: unknown): (Messages & object) | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const connection: unknown = Reflect.get(client, 'connection');
  if (typeof connection !== 'object' || connection === null) return undefined;
  return typeof Reflect.get(connection, 'on') === 'function'
    ? (connection as Messages & object)
    : undefined;
}

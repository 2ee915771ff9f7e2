import type { DataSource, QueryRunner } from 'typeorm';
import { dataSourceOf } from './chosen-data-source.js';

/** What `pg` reads from the server, message by message; `pg-native` has no such thing. */
interface Messages {
  on(message: 'commandComplete', listener: (told: { text: string }) => void): void;
  on(message: 'readyForQuery', listener: (told: { status: string }) => void): void;
  on(message: 'end', listener: () => void): void;
  off(message: string, listener: (told: never) => void): void;
}

/** `unknown`: prepared for a second phase, or its session ended before the server said more. */
export type TransactionEnd = 'committed' | 'rolled back' | 'unknown';

/** By `pg`'s connection, since several clients may share one connection. */
const watches = new WeakMap<object, SessionWatch>();
const byRunner = new WeakMap<QueryRunner, SessionWatch>();
/** Those of the connections that are open. */
const bySource = new WeakMap<DataSource, Set<SessionWatch>>();

/**
 * What became of a session's transactions, as the server says it. The watch listens, and sends nothing. A
 * COMMIT of a transaction in which a statement had failed is answered by ROLLBACK, and no other code looks.
 *
 * A text may end a transaction and begin the next one (`COMMIT AND CHAIN`, `COMMIT; BEGIN`): the session never says that it is
 * idle then, so each command's own answer counts. ROLLBACK is the answer to `ROLLBACK TO` as well; within an open
 * transaction the one cannot be told from the other, and is only counted.
 */
export class SessionWatch {
  #isOpen: boolean | undefined;
  /** The server has told of its end, and not yet what comes then. */
  #isOver = false;
  #rollbacks = 0;
  #transactions = 0;
  #onOver: ((end: TransactionEnd) => void)[] = [];

  /**
   * Watches the runner's session from now on; to be called before a statement whose end matters. Begins at once
   * where the runner is connected, so that no other statement goes out first.
   */
  static begin(runner: QueryRunner): Promise<void> | undefined {
    if (SessionWatch.beginIfConnected(runner) || runner.isReleased) return undefined;
    return runner.connect().then((made) => watch(runner, made));
  }

  /** @returns whether the runner has a connection */
  static beginIfConnected(runner: QueryRunner): boolean {
    if (byRunner.get(runner)?.isListening) return true;
    if (runner.isReleased) return false;
    const client: unknown = Reflect.get(runner, 'databaseConnection');
    if (client === undefined || client === null) return false;
    watch(runner, client);
    return true;
  }

  /** Undefined where the server's messages cannot be seen. */
  static of(runner: QueryRunner): SessionWatch | undefined {
    const known = byRunner.get(runner);
    return known?.isListening ? known : undefined;
  }

  /** The last one that asked has gone: the connections of that DataSource are as they were. */
  static endAll(dataSource: DataSource): void {
    for (const one of bySource.get(dataSource) ?? []) one.#end();
    bySource.delete(dataSource);
  }

  readonly #completed = ({ text }: { text: string }): void => this.#answered(text);
  readonly #ready = ({ status }: { status: string }): void => this.#isAt(status);
  readonly #gone = (): void => {
    this.siblings.delete(this);
    this.#over('unknown');
  };

  constructor(
    private readonly messages: Messages,
    private readonly siblings: Set<SessionWatch>,
  ) {
    messages.on('commandComplete', this.#completed);
    messages.on('readyForQuery', this.#ready);
    messages.on('end', this.#gone);
    siblings.add(this);
  }

  get isListening(): boolean {
    return watches.get(this.messages) === this;
  }

  /** Whether a transaction is open, however it was begun; undefined until the server has said so. */
  get isOpen(): boolean | undefined {
    return this.#isOpen;
  }

  /** How often something was rolled back so far: a transaction, or a part of one to a savepoint. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /** How many transactions have ended so far: as long as it stays, a transaction that is open is the same one. */
  get transactions(): number {
    return this.#transactions;
  }

  /** Told once, when the open transaction is over. */
  onOver(listener: (end: TransactionEnd) => void): void {
    this.#onOver.push(listener);
  }

  /** A text that ends a transaction was answered by ROLLBACK, and a transaction is open: it is the next one. */
  rolledBackAndChained(): void {
    this.#over('rolled back');
    this.#isOver = false;
    this.#isOpen = true;
  }

  #answered(tag: string): void {
    switch (tag) {
      case 'ROLLBACK':
        this.#rollbacks += 1;
        return;
      case 'COMMIT':
        return this.#over('committed');
      case 'PREPARE TRANSACTION':
        return this.#over('unknown');
      case 'BEGIN':
      case 'START TRANSACTION':
        this.#isOver = false;
        this.#isOpen = true;
    }
  }

  #isAt(status: string): void {
    const wasOpen = this.#isOpen !== false;
    this.#isOpen = status !== 'I';
    if (!this.#isOpen && wasOpen) this.#over('rolled back');
    this.#isOver = !this.#isOpen;
  }

  #end(): void {
    this.messages.off('commandComplete', this.#completed);
    this.messages.off('readyForQuery', this.#ready);
    this.messages.off('end', this.#gone);
    watches.delete(this.messages);
  }

  #over(end: TransactionEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isOpen = false;
    this.#transactions += 1;
    const listeners = this.#onOver;
    this.#onOver = [];
    for (const listener of listeners) listener(end);
  }
}

function watch(runner: QueryRunner, client: unknown): void {
  const messages = messagesOf(client);
  const dataSource = dataSourceOf(runner);
  if (messages === undefined || dataSource === undefined) return;
  let session = watches.get(messages);
  if (session === undefined) {
    let siblings = bySource.get(dataSource);
    if (siblings === undefined) bySource.set(dataSource, (siblings = new Set()));
    session = new SessionWatch(messages, siblings);
    watches.set(messages, session);
  }
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

import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

/** What `pg` reads from the server, message by message; `pg-native` does not have it. */
interface Messages {
  on(message: 'commandComplete', listener: (told: { text: string }) => void): void;
  on(message: 'readyForQuery', listener: (told: { status: string }) => void): void;
  on(message: 'end', listener: () => void): void;
  off(message: string, listener: (told: never) => void): void;
}

/** `unknown`: prepared for two-phase commit, or the session ended before the server reported. */
export type TransactionEnd = 'committed' | 'rolled back' | 'unknown';

/** By `pg`'s connection, because several clients may share one. */
const watches = new WeakMap<object, SessionWatch>();
const byRunner = new WeakMap<QueryRunner, SessionWatch>();
/** Watches whose connections are open. */
const bySource = new WeakMap<DataSource, Set<SessionWatch>>();

/**
 * How a session's transactions end, as the server reports it. The watch only listens. A COMMIT of a
 * transaction with a failed statement is answered by ROLLBACK, and no other code checks that.
 *
 * A text may end a transaction and begin the next one (`COMMIT AND CHAIN`, `COMMIT; BEGIN`): the
 * session is then never reported as idle, so each command's own answer counts. ROLLBACK also
 * answers `ROLLBACK TO`; in an open transaction the two are only counted.
 */
export class SessionWatch {
  #isOpen: boolean | undefined;
  /** The server has reported the end, and not yet what comes next. */
  #isOver = false;
  #rollbacks = 0;
  #transactions = 0;
  #onOver: ((end: TransactionEnd) => void)[] = [];

  /**
   * Watches the runner's session from now on. Begins synchronously if the runner is connected, so
   * that no other statement goes out first.
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

  /** Undefined where the server's messages are not visible. */
  static of(runner: QueryRunner): SessionWatch | undefined {
    const known = byRunner.get(runner);
    return known?.isListening ? known : undefined;
  }

  /** Ends its watches, once its last user is gone: its connections are as they were. */
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

  /** Whether a transaction is open, however it began; undefined until the server reports it. */
  get isOpen(): boolean | undefined {
    return this.#isOpen;
  }

  /** How many rollbacks there were, of a transaction or to a savepoint. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  /** How many transactions have ended: while it stays the same, so does the open transaction. */
  get transactions(): number {
    return this.#transactions;
  }

  /** Calls the listener once, when the open transaction ends. */
  onOver(listener: (end: TransactionEnd) => void): void {
    this.#onOver.push(listener);
  }

  /** A transaction begins with the next statement, whatever that is. */
  begins(): void {
    this.#isOver = false;
    this.#isOpen = true;
  }

  /** ROLLBACK answered a text that ends a transaction, and one is open: that is the next one. */
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
  const messages = messageSource(client);
  const dataSource = owningDataSource(runner);
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

function messageSource(client: unknown): (Messages & object) | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const connection: unknown = Reflect.get(client, 'connection');
  if (typeof connection !== 'object' || connection === null) return undefined;
  return typeof Reflect.get(connection, 'on') === 'function'
    ? (connection as Messages & object)
    : undefined;
}

/** TypeORM 0.3 calls it `connection`. */
export function owningDataSource(its: EntityManager | QueryRunner): DataSource | undefined {
  return Reflect.get(its, 'dataSource') ?? Reflect.get(its, 'connection');
}

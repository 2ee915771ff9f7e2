import { EventEmitter } from 'node:events';
import { currentProcess, type SimProcess, type SimTimeout } from '../time/sim-process.js';
import type { Network } from './network.js';
import { brokenConnection, diskFull } from './pg-error.js';
import type { Server } from './server.js';
import type { Session } from './sessions.js';

type Callback<Result> = (error: Error | undefined | null, result?: Result) => void;
type QueryResult = { rows: object[]; rowCount: number; command: string };

interface Query {
  text: string;
  values: readonly unknown[];
  callback: Callback<QueryResult>;
  timeout: SimTimeout | undefined;
  isOver: boolean;
}

/** A prepared statement, as `pg` takes it. */
interface Named {
  name: string;
  text: string;
  values: readonly unknown[];
}

/** Where the clients of a process connect to. */
export interface Place {
  server: Server;
  network: Network;
}

const places = new WeakMap<SimProcess, Place>();

export const connectTo = (process: SimProcess, place: Place): void => {
  places.set(process, place);
};

/** A `pg` client whose server is simulated: the same callbacks, events and flags as the real one. */
export class SimClient extends EventEmitter {
  readonly #process = currentProcess();
  readonly #place = places.get(this.#process)!;
  readonly #timeoutMs: number | undefined;
  /** Where `pg` tells of each message of the server; its pool destroys the socket of who connects too long. */
  readonly connection = Object.assign(new EventEmitter(), {
    stream: { destroy: () => this.#giveUp() },
  });
  readonly #queue: Query[] = [];
  #active: Query | undefined;
  #connecting: Callback<void> | undefined;
  #session: Session | undefined;
  #hasEnded = false;
  /** Messages overtake each other on no connection. */
  #arrivesAtMs = 0;
  // What pg's own pool looks at.
  _queryable = true;
  _ending = false;

  constructor(config: { query_timeout?: number } = {}) {
    super();
    this.#timeoutMs = config.query_timeout;
  }

  connect(): Promise<void>;
  connect(callback: Callback<void>): void;
  connect(callback?: Callback<void>): Promise<void> | void {
    if (callback === undefined) return promised((done) => this.connect(done));
    const { server, network } = this.#place;
    this.#connecting = callback;
    this.#process.timeline.after(network.latencyMs(), () => {
      const isAwaited = this.#connecting !== undefined && !this.#process.isDead;
      if (server.isUp && isAwaited && network.fate(false) === 'well') this.#open();
      const session = this.#session;
      this.#arrive(() => {
        if (session) this.#connected(null);
        else this.#giveUp();
      });
    });
  }

  isConnected(): boolean {
    return this.#session !== undefined;
  }

  ref(): void {}

  unref(): void {}

  query(query: string | Named, values?: readonly unknown[]): Promise<QueryResult>;
  query(
    query: string | Named,
    values: readonly unknown[] | undefined,
    callback: Callback<QueryResult>,
  ): void;
  query(
    asked: string | Named,
    given: readonly unknown[] = [],
    callback?: Callback<QueryResult>,
  ): Promise<QueryResult> | void {
    if (callback === undefined) return promised((done) => this.query(asked, given, done));
    // A prepared statement does what its text says.
    const { text, values } = typeof asked === 'string' ? { text: asked, values: given } : asked;
    if (!this._queryable || this._ending) {
      queueMicrotask(() => callback(new Error('the client is not queryable')));
      return;
    }
    const query: Query = { text, values, callback, timeout: undefined, isOver: false };
    if (this.#timeoutMs !== undefined) {
      query.timeout = this.#process.setTimeout(
        () => this.#settle(query, new Error('Query read timeout'), []),
        this.#timeoutMs,
      );
    }
    this.#queue.push(query);
    this.#sendNext();
  }

  end(): Promise<void>;
  end(callback: () => void): void;
  end(callback?: () => void): Promise<void> | void {
    if (callback === undefined) return promised<void>((done) => this.end(() => done(null)));
    this._ending = true;
    if (this.#hasEnded || this.#session === undefined) {
      queueMicrotask(callback);
      return;
    }
    this.once('end', callback);
    this.hangUp();
    this.#process.deliver(0, () => this.#ended(new Error('Connection terminated')));
  }

  /** The socket closes: the server finds out when its word arrives, and rolls back. */
  hangUp(): void {
    const session = this.#session;
    if (session === undefined) return;
    const { server, network } = this.#place;
    this.#process.timeline.after(network.latencyMs(), () => server.sessions.leave(session));
  }

  /** Told once, whatever comes later. */
  #connected(error: Error | null): void {
    const callback = this.#connecting;
    this.#connecting = undefined;
    callback?.(error);
  }

  /** Nobody waits for the connection any more; the server finds out. */
  #giveUp(): void {
    if (this.#connecting === undefined) return;
    this._queryable = false;
    this.#hasEnded = true;
    this.hangUp();
    this.#connected(brokenConnection());
  }

  #open(): void {
    const { server, network } = this.#place;
    const session = server.sessions.add({
      owner: this.#process.name,
      onEnd: (error) => this.#arrive(() => this.#lose(error)),
      onNotification: (channel, payload) => {
        if (!network.weather.hears) return;
        this.#arrive(() => {
          if (!this._ending) this.emit('notification', { channel, payload });
        });
      },
    });
    this.#session = session;
    onDeath(this.#process, () => this.hangUp());
  }

  #sendNext(): void {
    if (this.#active !== undefined) return;
    const query = this.#queue.shift();
    if (query === undefined) return;
    this.#active = query;
    const { server, network } = this.#place;
    const session = this.#session!;
    const fate = network.fate(this.#timeoutMs !== undefined);
    const answer = (error: Error | undefined, rows: object[]): void => {
      this.#arrive(() => this.#settle(query, error, rows));
    };
    this.#process.timeline.after(network.latencyMs(), () => {
      if (session.isOver || this.#process.isDead) return;
      const execute = (then: typeof answer): void =>
        server.execute(session, query.text, query.values, then);
      if (fate === 'well') execute(answer);
      else if (fate === 'refused') server.refuse(session, query.text, diskFull(), answer);
      else if (fate === 'request lost') server.endSession(session, brokenConnection());
      else if (fate === 'answer lost') {
        execute(() => server.endSession(session, brokenConnection()));
      } else if (fate === 'silence, done') execute(() => {});
    });
  }

  #arrive(happen: () => void): void {
    const { timeline } = this.#process;
    const atMs = timeline.nowMs + this.#place.network.latencyMs();
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, atMs);
    this.#process.deliver(this.#arrivesAtMs - timeline.nowMs, happen);
  }

  #settle(query: Query, error: Error | undefined, rows: object[]): void {
    if (query.isOver) return;
    query.isOver = true;
    this.#process.clear(query.timeout);
    if (this.#active === query) this.#active = undefined;
    const command = this.#session?.tag ?? 'SELECT';
    if (error === undefined) this.connection.emit('commandComplete', { text: command });
    this.connection.emit('readyForQuery', { status: this.#session?.open ? 'T' : 'I' });
    const result = { rows, rowCount: rows.length, command };
    // Two statements in one text have two results.
    const isTwo = /^(?:UN)?LISTEN /.test(query.text);
    query.callback(error, isTwo ? ([result, result] as never) : result);
    if (this._queryable && !this._ending) this.#sendNext();
  }

  /** The connection broke by itself. */
  #lose(error: Error): void {
    if (this.#hasEnded || this._ending) return;
    this._queryable = false;
    this.#failAll(error);
    // Whoever heard of it through a query has hung up by now.
    if (!this._ending) this.emit('error', error);
    this.#ended(error);
  }

  #ended(error: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this._queryable = false;
    this.#failAll(error);
    this.emit('end');
  }

  #failAll(error: Error): void {
    const all = this.#active ? [this.#active, ...this.#queue] : [...this.#queue];
    this.#queue.length = 0;
    this.#active = undefined;
    for (const query of all) this.#settle(query, error, []);
  }
}

const deaths = new WeakMap<SimProcess, (() => void)[]>();

/** The operating system closes the sockets of a process that is gone. */
function onDeath(process: SimProcess, close: () => void): void {
  const known = deaths.get(process);
  if (known) known.push(close);
  else deaths.set(process, [close]);
}

export function kill(process: SimProcess): void {
  process.kill();
  for (const close of deaths.get(process) ?? []) close();
  deaths.delete(process);
}

function promised<Result>(work: (callback: Callback<Result>) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    work((error, result) => (error ? reject(error) : resolve(result as Result)));
  });
}

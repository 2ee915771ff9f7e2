import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DelayEvents } from '../delay.events.js';
import { retryPauseMs } from './chore.js';
import type { EngineConnections } from './engine-connections.js';
import { presenceSql } from '../store/sql/presence.sql.js';
import { parseHint, probeHint, type Hint } from './hint.js';
import { Trouble } from './trouble.js';

/** A server that has not delivered its own notification by then does not. */
const PROBE_MS = 2_000;

/** A farewell takes one round trip. */
const END_WITHIN_MS = 1_000;

/** How often a pooler is asked for the session that listens in vain. */
const UNLISTEN_TRIES_MAX = 20;

/** Hears the hints of other nodes on a connection of its own, which it makes anew when it breaks. */
export class HintListener {
  readonly #trouble: Trouble;
  #client: Client | undefined;
  /** Not connected yet. */
  #connecting: Client | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #failures = 0;
  #session = 0;
  #works = false;
  #present = false;
  #stopped = false;
  #onProbe: (nonce: string) => void = () => {};

  /** @param onHint also told `nodes` after a gap, in which hints may have been lost */
  constructor(
    private readonly connections: EngineConnections,
    private readonly channel: string,
    private readonly nodeName: string,
    private readonly onHint: (hint: Hint) => void,
    events: DelayEvents,
  ) {
    this.#trouble = new Trouble(events, 'listen');
  }

  /** @returns whether LISTEN works: behind a pooler in transaction mode it does not */
  async start(): Promise<boolean> {
    await this.#connect();
    this.#works = await this.#probe();
    if (!this.#works) {
      await this.#unlisten();
      await this.stop();
    } else if (this.#client) {
      // Only now: a pooler in transaction mode would keep the lock on a session that is nobody's.
      await this.#takePresence(this.#client);
    }
    return this.#works;
  }

  /** Whether this node holds its presence lock, by which the others see it live. */
  get isPresent(): boolean {
    return this.#client !== undefined && this.#present;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#reconnect);
    const client = this.#client ?? this.#connecting;
    this.#client = undefined;
    // On a connection that died silently the end is never heard of.
    const enough = pause(END_WITHIN_MS, undefined, { ref: false });
    await Promise.race([client?.end().catch(() => {}), enough]);
  }

  async #connect(): Promise<void> {
    const client = this.connections.dedicated();
    this.#connecting = client;
    let lost = false;
    const lose = (error: unknown): void => {
      if (lost || this.#stopped) return;
      lost = true;
      this.#lost(client, error);
    };
    client.on('error', lose);
    client.on('end', () => lose(new Error('the listening connection ended')));
    client.on('notification', (message) => this.#heard(message.payload ?? ''));
    try {
      await client.connect();
      if (this.#works) await this.#takePresence(client);
      this.#session = await this.#say(client, 'LISTEN');
    } catch (error) {
      this.#connecting = undefined;
      lose(error);
      return;
    }
    this.#connecting = undefined;
    this.#client = client;
    this.#failures = 0;
    this.#trouble.worked();
    if (this.#stopped) await this.stop();
  }

  /** Where it cannot have the lock, the others go by its heartbeats. */
  async #takePresence(client: Client): Promise<void> {
    this.#present = false;
    try {
      const { rows } = await client.query<{ held: boolean }>(presenceSql(), [this.nodeName]);
      this.#present = rows[0]?.held === true;
    } catch {
      // The connection says what is wrong with it.
    }
  }

  /** Both in one round trip, which no pooler splits. @returns the session that heard it */
  async #say(client: Client, verb: 'LISTEN' | 'UNLISTEN'): Promise<number> {
    const text = `${verb} "${this.channel.replaceAll('"', '""')}"; SELECT pg_backend_pid() AS pid`;
    const results = (await client.query(text)) as unknown as { rows: { pid: number }[] }[];
    return results[1]?.rows[0]?.pid ?? 0;
  }

  /** The session is the pooler's, and would listen for ever. It lends the one it got back last. */
  async #unlisten(): Promise<void> {
    try {
      for (let tries = 0; this.#client && tries < UNLISTEN_TRIES_MAX; tries += 1) {
        if ((await this.#say(this.#client, 'UNLISTEN')) === this.#session) return;
      }
    } catch {
      // It is closed next.
    }
  }

  #lost(client: Client, error: unknown): void {
    this.#client = undefined;
    this.#failures += 1;
    this.#trouble.failed(error);
    void client.end().catch(() => {});
    this.#reconnect = setTimeout(() => {
      void this.#connect().then(() => {
        if (this.#client) this.onHint({ kind: 'nodes' });
      });
    }, retryPauseMs(this.#failures));
  }

  #heard(text: string): void {
    const hint = parseHint(text);
    if (hint?.kind === 'probe') this.#onProbe(hint.nonce);
    else if (hint) this.onHint(hint);
  }

  /** Only silence on a connection that lives says that LISTEN does not work. */
  async #probe(): Promise<boolean> {
    const nonce = randomUUID();
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(this.#client === undefined), PROBE_MS);
      const works = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      this.#onProbe = (heard) => {
        if (heard === nonce) works();
      };
      const parameters = [this.channel, probeHint(nonce)];
      this.connections
        .query('SELECT pg_notify($1::text, $2::text)', parameters)
        // Nothing was sent, so nothing is proven.
        .catch(works);
    });
  }
}

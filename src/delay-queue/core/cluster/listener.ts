import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DelayEvents } from '../api/events.js';
import type { EngineConnections } from '../database/engine-connections.js';
import { ON_PRIMARY } from '../database/tables.js';
import { farewellSql, presenceSql } from '../store/sql/fragments/clock.js';
import type { Idle } from '../tasks/recurring-task.js';
import { retryPauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';
import { LATE, Signal, within } from '../tasks/signal.js';
import { type Hint, parseHint } from './hint.js';
import {
  END_WITHIN_MS,
  endSession,
  type Hearing,
  hears,
  startListening,
  stopListening,
} from './hearing.js';

/**
 * The server has to answer over the listening connection within this time. With a load every 10 s,
 * a silently dead connection is replaced within 15 s.
 */
const ANSWER_WITHIN_MS = 5_000;

/** Pause before the next try, when the other connection failed before LISTEN was proven. */
const LEARN_AGAIN_MS = 1_000;

/** Shows in `pg_stat_activity` as the last query of the listening session. */
const STILL_LISTENS_SQL = `${ON_PRIMARY} SELECT true AS listens`;

const LISTENS_ELSEWHERE =
  'the listening connection leads to another server than the others, where its lock is not held';

type HeldAnswer = Record<'held' | 'process_held', string>;

/** Receives hints of other nodes on a dedicated connection, and reconnects when it breaks. */
export class HintListener {
  /** Hints of other nodes; also `nodes` after a gap, in which hints may have been lost. */
  readonly hints = new Signal<Hint>();
  /** Whether LISTEN works, if the start could not find out. */
  readonly hearingKnown = new Signal<Hearing>();
  /** The lock that shows other nodes that this process lives. Without it, attempts are orphaned. */
  readonly processLock = { number: randomBytes(8).readBigInt64BE().toString(), isHeld: false };
  readonly #health: TaskHealth;
  #client: Client | undefined;
  #lose: (error: unknown) => void = () => {};
  #isAsking = false;
  /** Not connected yet. */
  #connecting: Client | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #wakeOff: (() => void) | undefined;
  #failures = 0;
  #session = 0;
  /** Whether LISTEN works, if known; `silent` until it was tried. */
  hearing: Hearing = 'silent';
  #present = false;
  #stopped = false;

  constructor(
    private readonly connections: EngineConnections,
    private readonly channel: string,
    private readonly nodeName: string,
    events: DelayEvents,
    private readonly idle: Pick<Idle, 'isOn' | 'over'>,
  ) {
    this.#health = new TaskHealth(events, 'listen');
  }

  /** @returns whether LISTEN works; behind a pooler in transaction mode it does not */
  async start(): Promise<boolean> {
    await this.#connect();
    await this.#learn();
    // While that is unknown, the connection is still reopened when it breaks.
    return this.hearing !== 'silent';
  }

  async #learn(): Promise<void> {
    this.hearing = await this.#listens();
    // Only now: a pooler in transaction mode would keep the lock, on a session of no client.
    if (this.#hasOwnSessions && this.#client) await this.#prepare(this.#client);
    if (this.hearing !== 'unknown' || this.#client === undefined) return;
    clearTimeout(this.#reconnect);
    this.#reconnect = setTimeout(() => void this.#learnAgain(), LEARN_AGAIN_MS);
  }

  async #learnAgain(): Promise<void> {
    await this.#learn();
    this.hearingKnown.emit(this.hearing);
  }

  /** Whether it is proven that this process keeps its sessions to itself. */
  get #hasOwnSessions(): boolean {
    return this.hearing === 'heard';
  }

  /** The session that holds the presence lock, by which others see this node live; or undefined. */
  get presentSession(): object | undefined {
    return this.#present ? this.#client : undefined;
  }

  /**
   * The session's lock is missing where this node's other connections lead: it listens on an
   * abandoned server, which sends no hints.
   */
  missed(session: object): void {
    if (session === this.#client) this.#lose(new Error(LISTENS_ELSEWHERE));
  }

  /** Checks that the server still answers. Where a proxy closes nothing, it may be long gone. */
  async ask(): Promise<void> {
    const client = this.#client;
    const lose = this.#lose;
    if (client === undefined || this.#isAsking) return;
    this.#isAsking = true;
    const askedAtMs = performance.now();
    let isAnswered = false;
    // The connection's own listeners get its errors.
    const answer = client.query(STILL_LISTENS_SQL).then(
      () => (isAnswered = true),
      () => {},
    );
    if ((await within(answer, ANSWER_WITHIN_MS, { ref: false })) === LATE) {
      // A process that was suspended runs its timers before it reads what has arrived.
      await turn();
      await turn();
    }
    this.#isAsking = false;
    if (!isAnswered) {
      lose(new Error(`no answer within ${ANSWER_WITHIN_MS} ms over the listening connection`));
      // The other connections lead to the same server.
      this.connections.renew(askedAtMs);
    } else if (this.#hasOwnSessions && !this.#present && !this.processLock.isHeld) {
      // When it connected, an earlier session of this node still held the locks.
      await this.#takePresence(client);
    }
  }

  /** Leaves the cluster. Its process lock stays until `stop`: no attempt is orphaned before. */
  async retire(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#reconnect);
    this.#wakeOff?.();
    const client = this.#client;
    if (client === undefined || !this.#hasOwnSessions) return this.stop();
    client.removeAllListeners('notification');
    const farewell = client.query(farewellSql(), [this.nodeName]).catch(() => {});
    await within(farewell, END_WITHIN_MS, { ref: false });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#reconnect);
    this.#wakeOff?.();
    const client = this.#client ?? this.#connecting;
    this.#client = undefined;
    this.processLock.isHeld = false;
    if (client) await endSession(client);
  }

  async #listens(): Promise<Hearing> {
    const client = this.#client;
    if (client === undefined) return 'unknown';
    const hearing = await hears(client, this.channel, this.connections);
    if (hearing === 'silent') {
      await stopListening(client, this.channel, this.#session);
      await this.stop();
    }
    return hearing;
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
      await this.connections.open(client);
      if (this.#hasOwnSessions) await this.#prepare(client);
      this.#session = await startListening(client, this.channel);
    } catch (error) {
      this.#connecting = undefined;
      lose(error);
      return;
    }
    this.#connecting = undefined;
    this.#client = client;
    this.#lose = lose;
    this.#failures = 0;
    this.#health.worked();
    if (this.#stopped) await this.stop();
  }

  async #prepare(client: Client): Promise<void> {
    await this.connections.applySettings(client).catch(() => {});
    await this.#takePresence(client);
  }

  /** If the lock is not available, other nodes go by this node's heartbeats. */
  async #takePresence(client: Client): Promise<void> {
    this.#present = false;
    try {
      const locks = [this.nodeName, this.processLock.number];
      const { rows } = await client.query<HeldAnswer>(presenceSql(), locks);
      this.#present = rows[0]?.held === 'true';
      this.processLock.isHeld = rows[0]?.process_held === 'true';
    } catch {
      // The connection's own listeners report the error.
    }
  }

  #lost(client: Client, error: unknown): void {
    this.#client = undefined;
    this.processLock.isHeld = false;
    void client.end().catch(() => {});
    clearTimeout(this.#reconnect);
    // A sleeping server ends its sessions, and a new one would wake it.
    if (this.idle.isOn) return void this.idle.over.next.then(() => this.#connectAgain());
    this.#failures += 1;
    this.#health.failed(error);
    this.#reconnect = setTimeout(() => this.#connectAgain(), retryPauseMs(this.#failures));
    this.#wakeOff = this.#health.whenAnotherWorks(() => this.#connectAgain());
  }

  #connectAgain(): void {
    clearTimeout(this.#reconnect);
    this.#wakeOff?.();
    if (!this.#stopped) void this.#connect().then(() => this.#connectedAgain());
  }

  async #connectedAgain(): Promise<void> {
    if (this.#client === undefined) return;
    if (this.hearing === 'unknown') await this.#learnAgain();
    this.hints.emit({ kind: 'nodes' });
  }

  #heard(text: string): void {
    const hint = parseHint(text);
    if (hint) this.hints.emit(hint);
  }
}

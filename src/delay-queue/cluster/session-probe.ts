import { randomUUID } from 'node:crypto';
import { setTimeout as pauseFor } from 'node:timers/promises';
import type { Client, Notification } from 'pg';
import type { EngineConnections } from '../database/engine-connections.js';
import type { Runner } from '../database/runner.js';
import { retryPauseMs } from '../tasks/growing-pause.js';
import { within } from '../tasks/signal.js';
import { parseHint, probeHint } from './hint.js';

/** A server that has not delivered its own notification by then does not. */
export const PROBE_MS = 2_000;

/** A farewell takes one round trip. */
export const END_WITHIN_MS = 1_000;

/** How often a pooler is asked for the session that listens in vain. */
const UNLISTEN_TRIES_MAX = 20;

/** @returns the session that listens: not the client's own behind a pooler in transaction mode */
export const listen = (client: Client, channel: string): Promise<number> =>
  say(client, 'LISTEN', channel);

/** The session is the pooler's, and would listen for ever. It lends the one it got back last. */
export async function unlisten(client: Client, channel: string, session: number): Promise<void> {
  try {
    for (let tries = 0; tries < UNLISTEN_TRIES_MAX; tries += 1) {
      if ((await say(client, 'UNLISTEN', channel)) === session) return;
    }
  } catch {
    // It is closed next.
  }
}

/** Both in one round trip, which no pooler splits. */
async function say(client: Client, verb: 'LISTEN' | 'UNLISTEN', channel: string): Promise<number> {
  const text = `${verb} "${channel.replaceAll('"', '""')}"; SELECT pg_catalog.pg_backend_pid()::text AS pid`;
  const results = (await client.query(text)) as unknown as { rows: { pid: string }[] }[];
  return Number(results[1]?.rows[0]?.pid);
}

/** `silent`: nothing was heard on a connection that lives. `unknown`: it ended, or was not waited for. */
export type Hearing = 'heard' | 'silent' | 'unknown';

/**
 * Whether a listening client hears what is said on its channel. If so, a session is its client's own
 * for as long as the connection lasts.
 *
 * @param sender another connection
 */
export async function hears(
  client: Client,
  channel: string,
  sender: Runner,
  signal?: AbortSignal,
): Promise<Hearing> {
  const nonce = randomUUID();
  return new Promise<Hearing>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const decide = (hearing: Hearing): void => {
      clearTimeout(timer);
      timer = undefined;
      client.off('notification', notified);
      client.off('end', giveUp);
      signal?.removeEventListener('abort', giveUp);
      resolve(hearing);
    };
    // A process that stood still runs its timers before it reads what has come meanwhile.
    const wait = (then: Hearing): void => {
      clearTimeout(timer);
      const own = setTimeout(() => setImmediate(() => own === timer && decide(then)), PROBE_MS);
      timer = own;
    };
    // What is not said yet cannot be heard: its COMMIT may hang, as that of all others.
    wait('unknown');
    const giveUp = (): void => decide('unknown');
    const notified = ({ payload = '' }: Notification): void => {
      const hint = parseHint(payload);
      if (hint?.kind === 'probe' && hint.nonce === nonce) decide('heard');
    };
    client.on('notification', notified);
    client.on('end', giveUp);
    signal?.addEventListener('abort', giveUp);
    if (signal?.aborted) giveUp();
    sender
      .query('SELECT pg_catalog.pg_notify($1::text, $2::text)', [channel, probeHint(nonce)])
      .then(() => timer && wait('silent'), giveUp);
  });
}

/**
 * Finds out, on a connection made for it, whether this process keeps its sessions to itself: a node
 * without handlers has no listener that would know. It asks again, after growing pauses, as long as nothing can be told.
 */
export class SessionProof {
  readonly #stop = new AbortController();
  /** False also when it was stopped before that could be told. */
  readonly answered: Promise<boolean>;

  constructor(
    private readonly connections: EngineConnections,
    private readonly channel: string,
  ) {
    this.answered = this.#find();
  }

  /** Gives up what is not answered, and leaves nothing behind. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.answered;
  }

  async #find(): Promise<boolean> {
    const { signal } = this.#stop;
    for (let asked = 1; !signal.aborted; asked += 1) {
      const hearing = await this.#ask();
      if (hearing !== 'unknown') return hearing === 'heard';
      await pauseFor(retryPauseMs(asked), undefined, { ref: false, signal }).catch(() => {});
    }
    return false;
  }

  async #ask(): Promise<Hearing> {
    const { connections, channel } = this;
    const client = connections.dedicated();
    client.on('error', () => {});
    try {
      await connections.open(client);
      const session = await listen(client, channel);
      const hearing = await hears(client, channel, connections, this.#stop.signal);
      if (hearing === 'silent') await unlisten(client, channel, session);
      return hearing;
    } catch {
      return 'unknown';
    } finally {
      // On a connection that died silently the end is never heard of.
      await within(
        client.end().catch(() => {}),
        END_WITHIN_MS,
        { ref: false },
      );
    }
  }
}

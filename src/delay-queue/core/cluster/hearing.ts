import { randomUUID } from 'node:crypto';
import type { Client, Notification } from 'pg';
import type { Runner } from '../database/runner.js';
import { within } from '../tasks/signal.js';
import { parseHint, probeHint } from './hint.js';

/** A server that has not delivered its own notification within this time does not deliver any. */
export const PROBE_MS = 2_000;

/** How often a pooler is asked for the session that listens needlessly. */
const UNLISTEN_TRIES_MAX = 20;

/** @returns the session that listens; behind a transaction pooler it is not the client's own */
export const startListening = (client: Client, channel: string): Promise<number> =>
  say(client, 'LISTEN', channel);

/** Leaving the cluster takes one round trip. */
export const END_WITHIN_MS = 1_000;

/** On a dead connection, the end is never confirmed. */
export const endSession = (client: Client): Promise<unknown> =>
  within(
    client.end().catch(() => {}),
    END_WITHIN_MS,
    { ref: false },
  );

/** Ends the LISTEN of a pooler's session. A pooler lends the session that it got back last. */
export async function stopListening(
  client: Client,
  channel: string,
  session: number,
): Promise<void> {
  try {
    for (let tries = 0; tries < UNLISTEN_TRIES_MAX; tries += 1) {
      if ((await say(client, 'UNLISTEN', channel)) === session) return;
    }
  } catch {
    // The connection is closed next.
  }
}

/** Sends both in one round trip, which no pooler splits. */
async function say(client: Client, verb: 'LISTEN' | 'UNLISTEN', channel: string): Promise<number> {
  const text = `${verb} "${channel.replaceAll('"', '""')}"; SELECT pg_catalog.pg_backend_pid()::text AS pid`;
  const results = (await client.query(text)) as unknown as { rows: { pid: string }[] }[];
  return Number(results[1]?.rows[0]?.pid);
}

/** `silent`: the connection lived and received nothing. `unknown`: it ended, or the wait did. */
export type Hearing = 'heard' | 'silent' | 'unknown';

/**
 * Whether a listening client receives notifications of its channel. If so, its session is its own
 * for as long as the connection lasts.
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
    // A process that was suspended runs its timers before it reads what has arrived.
    const wait = (then: Hearing): void => {
      clearTimeout(timer);
      const own = setTimeout(() => setImmediate(() => own === timer && decide(then)), PROBE_MS);
      timer = own;
    };
    // What is not sent yet cannot be received: its COMMIT may hang, like any other.
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

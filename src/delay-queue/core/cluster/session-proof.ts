import { setTimeout as pauseFor } from 'node:timers/promises';
import type { EngineConnections } from '../database/engine-connections.js';
import { retryPauseMs } from '../tasks/pauses.js';
import { endSession, type Hearing, hears, startListening, stopListening } from './hearing.js';

/**
 * Finds out, on a connection made for it, whether this process keeps its sessions to itself: a node
 * without handlers has no listener that would know. Repeats with growing pauses while unknown.
 */
export class SessionProof {
  readonly #stop = new AbortController();
  /** False also when stopped before that was known. */
  readonly answered: Promise<boolean>;

  constructor(
    private readonly connections: EngineConnections,
    private readonly channel: string,
  ) {
    this.answered = this.#find();
  }

  /** Gives up an open probe and leaves nothing behind. */
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
      const session = await startListening(client, channel);
      const hearing = await hears(client, channel, connections, this.#stop.signal);
      if (hearing === 'silent') await stopListening(client, channel, session);
      return hearing;
    } catch {
      return 'unknown';
    } finally {
      await endSession(client);
    }
  }
}

import type { EngineConnections } from '../database/engine-connections.js';
import { hears, listen, unlisten } from './session-probe.js';

/**
 * Finds out, on a connection made for it, whether this process keeps its sessions to itself: a node
 * without handlers has no listener that would know.
 */
export class SessionProof {
  readonly #stop = new AbortController();
  /** False also when nobody knows. */
  readonly answered: Promise<boolean>;

  constructor(
    private readonly connections: EngineConnections,
    private readonly channel: string,
  ) {
    this.answered = this.#ask();
  }

  /** Gives up what is not answered, and leaves nothing behind. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.answered;
  }

  async #ask(): Promise<boolean> {
    const { connections, channel } = this;
    const client = connections.dedicated();
    client.on('error', () => {});
    try {
      await connections.open(client);
      const session = await listen(client, channel);
      const hearing = await hears(client, channel, connections, this.#stop.signal);
      if (hearing !== 'heard') await unlisten(client, channel, session);
      return hearing === 'heard';
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

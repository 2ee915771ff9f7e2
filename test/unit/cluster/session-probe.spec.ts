import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Client } from 'pg';
import { probeHint } from '../../../src/delay-queue/core/cluster/hint.js';
import { SessionProof } from '../../../src/delay-queue/core/cluster/session-proof.js';
import {
  hears,
  type Hearing,
  PROBE_MS,
  stopListening,
} from '../../../src/delay-queue/core/cluster/hearing.js';
import type { EngineConnections } from '../../../src/delay-queue/core/database/engine-connections.js';
import { type Signal, signal } from '../../support/delay-node.js';

/** A connection that listens; a pooler may lend it another session for each statement. */
class FakeClient extends EventEmitter {
  readonly said: string[] = [];
  hasEnded = false;

  query = async (text: string): Promise<unknown> => {
    this.said.push(text);
    if (failing) throw new Error('down');
    return [{}, { rows: [{ pid: String(sessions.shift() ?? 1) }] }];
  };

  end = async (): Promise<void> => void (this.hasEnded = true);

  get isAlone(): boolean {
    return this.listenerCount('notification') + this.listenerCount('end') === 0;
  }
}

let client: FakeClient;
/** Those of the next statements. */
let sessions: number[];
let failing: boolean;
/** What was said on the channel, and not answered yet. */
let said: { text: string; answer: Signal<void>; refuse: (error: Error) => void }[];
let heard: Hearing | undefined;

const sender = {
  query: (_: string, [channel, text]: string[]) => {
    expect(channel).toBe('channel');
    const answer = signal();
    return new Promise<never[]>((resolve, reject) => {
      said.push({ text: text!, answer, refuse: reject });
      void answer.promise.then(() => resolve([]));
    });
  },
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  jest.spyOn(Math, 'random').mockReturnValue(0);
  [client, sessions, failing, said, heard] = [new FakeClient(), [], false, [], undefined];
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const asClient = (of: FakeClient): Client => of as unknown as Client;

async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await turn();
}

async function ask(aborted?: AbortSignal): Promise<void> {
  void hears(asClient(client), 'channel', sender, aborted).then((hearing) => (heard = hearing));
  await turn();
}

const notify = (payload: string, on = client): void => void on.emit('notification', { payload });

describe('whether a client hears', () => {
  it('is known when its own probe comes back, and nothing else counts', async () => {
    await ask();
    for (const text of [probeHint('other'), 'n', '']) notify(text);
    await turn();
    expect(heard).toBeUndefined();
    notify(said[0]!.text);
    await turn();
    expect([heard, client.isAlone, jest.getTimerCount()]).toEqual(['heard', true, 0]);
  });

  it('is known, too, when that was said, and has not come two seconds later', async () => {
    await ask();
    await pass(PROBE_MS - 1);
    said[0]!.answer.resolve();
    await pass(PROBE_MS - 1);
    expect(heard).toBeUndefined();
    await pass(1);
    expect([heard, client.isAlone, jest.getTimerCount()]).toEqual(['silent', true, 0]);
  });

  it('nothing is known while that is not said yet', async () => {
    await ask();
    await pass(PROBE_MS);
    expect([heard, client.isAlone, jest.getTimerCount()]).toEqual(['unknown', true, 0]);
    said[0]!.answer.resolve();
    await turn();
  });

  it.each<[string, () => void]>([
    ['its connection ends', () => client.emit('end')],
    ['it cannot be said', () => said[0]!.refuse(new Error('down'))],
  ])('nothing is known when %s', async (_, act) => {
    await ask();
    act();
    await turn();
    expect([heard, client.isAlone, jest.getTimerCount()]).toEqual(['unknown', true, 0]);
  });

  it.each([true, false])(
    'nothing is known when it is not waited for, before it asks: %p',
    async (isBefore) => {
      const controller = new AbortController();
      if (isBefore) controller.abort();
      await ask(controller.signal);
      controller.abort();
      await turn();
      expect([heard, client.isAlone, jest.getTimerCount()]).toEqual(['unknown', true, 0]);
    },
  );
});

describe('a session of a pooler that listens in vain', () => {
  it('is told to stop, whenever the pooler lends it again', async () => {
    sessions = [5, 6, 7, 8];
    await stopListening(asClient(client), 'a "b"', 7);
    expect(client.said).toHaveLength(3);
    expect(client.said[0]).toMatch(/^UNLISTEN "a ""b"""; SELECT /);
  });

  it('is given up after twenty tries, or an error', async () => {
    await stopListening(asClient(client), 'channel', 7);
    expect(client.said).toHaveLength(20);
    failing = true;
    await stopListening(asClient(client), 'channel', 7);
    expect(client.said).toHaveLength(21);
  });
});

describe('a node without a listener', () => {
  let clients: FakeClient[];
  let opens: number;
  let isUp: boolean;
  let proof: SessionProof;
  let answer: boolean | undefined;

  beforeEach(async () => {
    [clients, opens, isUp, answer] = [[], 0, true, undefined];
    const connections = {
      dedicated: () => {
        clients.push(new FakeClient());
        return clients.at(-1);
      },
      open: async () => {
        opens += 1;
        if (!isUp) throw new Error('down');
      },
      query: sender.query,
    } as unknown as EngineConnections;
    proof = new SessionProof(connections, 'channel');
    void proof.answered.then((answered) => (answer = answered));
    await turn();
  });

  afterEach(() => proof.stop());

  it('has sessions of its own when its connection hears', async () => {
    expect(clients[0]!.said).toEqual([expect.stringMatching(/^LISTEN "channel"; /)]);
    notify(said[0]!.text, clients[0]);
    await turn();
    expect([answer, clients.length, clients[0]!.hasEnded]).toEqual([true, 1, true]);
  });

  it('has none when it hears nothing, and leaves nothing that listens', async () => {
    said[0]!.answer.resolve();
    await turn();
    await pass(PROBE_MS);
    expect([answer, clients[0]!.hasEnded]).toEqual([false, true]);
    expect(clients[0]!.said.at(-1)).toMatch(/^UNLISTEN /);
  });

  it('asks again as long as nothing can be told', async () => {
    isUp = false;
    expect(clients[0]!.emit('error', new Error('terminated'))).toBe(true);
    clients[0]!.emit('end');
    await turn();
    expect([opens, clients[0]!.hasEnded]).toEqual([1, true]);
    while (clients.length < 3) {
      isUp = clients.length === 2;
      await turn();
    }
    expect(answer).toBeUndefined();
    await turn();
    notify(said.at(-1)!.text, clients.at(-1));
    await turn();
    expect(answer).toBe(true);
  });

  it('stops at once, and then has none', async () => {
    await proof.stop();
    expect([answer, clients[0]!.hasEnded, opens]).toEqual([false, true, 1]);
  });
});

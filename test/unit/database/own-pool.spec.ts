import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { OwnPool } from '../../../src/delay-queue/core/database/own-pool.js';
import type { PreparedStatements } from '../../../src/delay-queue/core/database/prepared-statements.js';
import { type Signal, signal } from '../../support/delay-node.js';

/** A connection, and what was done with it. */
class FakeClient {
  said: string[] = [];
  isFree = true;

  query = async (sql: string): Promise<void> => void this.said.push(sql);
  end = async (): Promise<void> => void this.said.push('end');

  release(destroys = false): void {
    if (this.isFree) throw new Error('released twice');
    this.isFree = true;
    this.said.push(destroys ? 'destroyed' : 'released');
  }
}

let clients: FakeClient[];
let hasEnded: boolean;
/** No connection is to be had. */
let isFull: boolean;
/** Of statements, in the order in which they were sent. */
let answers: Signal<unknown[]>[];
let settings: () => Promise<void>;
let pool: OwnPool;

beforeEach(() => {
  [clients, answers, hasEnded, isFull] = [[], [], false, false];
  settings = async () => {};
  const connect = async (): Promise<PoolClient> => {
    if (isFull) throw new Error('too many clients already');
    const client = new FakeClient();
    client.isFree = false;
    clients.push(client);
    return client as unknown as PoolClient;
  };
  const end = async (): Promise<void> => void (hasEnded = true);
  const prepared = {
    applySettings: () => settings(),
    run: () => {
      const answer = signal<unknown[]>();
      answers.push(answer);
      return answer.promise;
    },
  } as unknown as PreparedStatements;
  pool = new OwnPool({ connect, end, on: () => {} } as unknown as Pool, prepared, () => {});
});

afterEach(() => {
  jest.useRealTimers();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ask = (): Promise<unknown[]> => pool.query('SELECT', []);
const said = (): string[][] => clients.map((client) => client.said);

describe('a statement', () => {
  it('has a connection of its own, which goes back when it is answered, and is cut when it fails', async () => {
    const [good, bad] = [ask(), ask()];
    await turn();
    answers[0]!.resolve([1]);
    answers[1]!.reject(new Error('no'));
    await expect(good).resolves.toEqual([1]);
    await expect(bad).rejects.toThrow('no');
    expect(said()).toEqual([['released'], ['destroyed']]);
  });

  it('is not sent on a connection that does not take its settings', async () => {
    settings = () => Promise.reject(new Error('read only'));
    await expect(ask()).rejects.toThrow('read only');
    expect([said(), answers]).toEqual([[['destroyed']], []]);
  });

  it('that may go elsewhere does, for ten seconds after no connection was to be had', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    isFull = true;
    expect(await pool.tryQuery('SELECT', [])).toBeUndefined();
    isFull = false;
    expect(await pool.tryQuery('SELECT', [])).toBeUndefined();
    await jest.advanceTimersByTimeAsync(9_999);
    expect(await pool.tryQuery('SELECT', [])).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    const asked = pool.tryQuery('SELECT', []);
    await turn();
    answers[0]!.resolve([1]);
    expect(await asked).toEqual([1]);
  });
});

describe('several in one transaction', () => {
  it('are committed, and the connection goes back', async () => {
    const done = pool.inTransaction(async (runner) => {
      expect(runner.transaction).toBe('ours');
      return runner.query('SELECT', []);
    });
    await turn();
    answers[0]!.resolve([1]);
    expect(await done).toEqual([1]);
    expect(said()).toEqual([['BEGIN ISOLATION LEVEL READ COMMITTED', 'COMMIT', 'released']]);
  });

  it('of which one fails are cut with their connection', async () => {
    await expect(pool.inTransaction(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(said()).toEqual([['BEGIN ISOLATION LEVEL READ COMMITTED', 'destroyed']]);
  });
});

describe('a pool that closes', () => {
  it('waits for its answers, and cuts what has none after five seconds', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const [answered, hanging] = [ask(), ask()];
    await turn();
    const closed = pool.close();
    expect(pool.isClosing).toBe(true);
    answers[0]!.resolve([]);
    await answered;
    await jest.advanceTimersByTimeAsync(4_999);
    expect([hasEnded, said()]).toEqual([false, [['released'], []]]);
    await jest.advanceTimersByTimeAsync(1);
    await closed;
    expect([hasEnded, said()]).toEqual([true, [['released'], ['end']]]);
    answers[1]!.reject(new Error('terminated'));
    await expect(hanging).rejects.toThrow('terminated');
  });

  it('is closed at once when nothing is on its way, and but once', async () => {
    for (let times = 0; times < 1_000; times += 1) {
      const asked = ask();
      await Promise.resolve();
      await turn();
      answers.at(-1)!.resolve([]);
      await asked;
    }
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    await Promise.all([pool.close(), pool.close()]);
    expect(hasEnded).toBe(true);
    hasEnded = false;
    await pool.close();
    expect([hasEnded, jest.getTimerCount()]).toEqual([false, 0]);
  });
});

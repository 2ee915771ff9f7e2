import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { DelayUnavailableError } from 'nestjs-delay-queue';
import type { Pool } from 'pg';
import { OwnPool } from '../../../src/delay-queue/core/database/own-pool.js';
import type { PreparedStatements } from '../../../src/delay-queue/core/database/prepared-statements.js';
import { type Signal, signal } from '../../support/delay-node.js';

/** A pool of `pg`, as far as it matters: what was given back last is handed out first. */
class FakePool extends EventEmitter {
  readonly clients: FakeClient[] = [];
  readonly idle: FakeClient[] = [];
  hasEnded = false;
  /** No connection is to be had. */
  isFull = false;

  connect = async (): Promise<FakeClient> => {
    if (this.isFull) throw new Error('too many clients already');
    const known = this.idle.pop();
    if (known !== undefined) return known;
    const client = new FakeClient(this, this.clients.length + 1);
    this.clients.push(client);
    this.emit('connect', client);
    return client;
  };

  end = async (): Promise<void> => void (this.hasEnded = true);
}

/** A connection, and what was done with it. */
class FakeClient {
  said: string[] = [];

  constructor(
    private readonly pool: FakePool,
    readonly processID: number,
  ) {}

  query = async (sql: string): Promise<{ rows: unknown[] }> => {
    this.said.push(sql);
    return { rows: left.map((pid) => ({ pid: String(pid) })) };
  };

  end = async (): Promise<void> => void this.said.push('end');

  release(destroys = false): void {
    if (this.pool.idle.includes(this)) throw new Error('released twice');
    if (!destroys) this.pool.idle.push(this);
    this.said.push(destroys ? 'destroyed' : 'released');
  }
}

/** Sessions that the server says it still has. */
let left: number[];
/** What comes of the statements, in the order in which they were sent; those behind it wait in `answers`. */
let ends: (Error | 'answered')[];
let answers: Signal<unknown[]>[];
/** On which connection each was sent. */
let sentOn: number[];
let settings: () => Promise<void>;
let fake: FakePool;
let pool: OwnPool;
let dead: number[];

beforeEach(() => {
  [left, ends, answers, sentOn, dead] = [[], [], [], [], []];
  settings = async () => {};
  fake = new FakePool();
  const prepared = {
    applySettings: () => settings(),
    run: async ({ processID }: FakeClient) => {
      sentOn.push(processID);
      const end = ends.shift();
      if (end === undefined) {
        const answer = signal<unknown[]>();
        answers.push(answer);
        return answer.promise;
      }
      // As long as a clock takes to go on.
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (end !== 'answered') throw end;
      return [];
    },
  } as unknown as PreparedStatements;
  pool = new OwnPool(fake as unknown as Pool, prepared, (openedBeforeMs) => {
    dead.push(openedBeforeMs);
    pool.renew(openedBeforeMs);
  });
});

afterEach(() => {
  jest.useRealTimers();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ask = (): Promise<unknown[]> => pool.query('SELECT', []);
const said = (): string[][] => fake.clients.map((client) => client.said);

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
    fake.isFull = true;
    expect(await pool.tryQuery('SELECT', [])).toBeUndefined();
    fake.isFull = false;
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
    expect([fake.hasEnded, said()]).toEqual([false, [['released'], []]]);
    await jest.advanceTimersByTimeAsync(1);
    await closed;
    expect([fake.hasEnded, said()]).toEqual([true, [['released'], ['end']]]);
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
    expect(fake.hasEnded).toBe(true);
    fake.hasEnded = false;
    await pool.close();
    expect([fake.hasEnded, jest.getTimerCount()]).toEqual([false, 0]);
  });
});

/** So many statements at a time, which come to an end by themselves. */
const asks = (...how: (Error | 'answered')[]): Promise<unknown[]> => {
  ends.push(...how);
  return Promise.all(how.map(() => ask().catch((error: unknown) => error)));
};

const silent = (): Error => new Error('Query read timeout');
const refused = (code: string): Error => Object.assign(new Error('no'), { code });

describe('a pool of which a connection has died', () => {
  it.each([
    ['does not answer', silent(), true],
    ['takes no writes', refused('25006'), true],
    ['refuses a statement', refused('23505'), false],
    ['was closed', refused('57P01'), false],
  ])(
    'when one %s, uses those opened before it no more where they may be like that: %p',
    async (_, end, isRenewed) => {
      await asks('answered', 'answered', 'answered');
      expect(fake.idle).toHaveLength(3);
      await asks(end);
      sentOn = [];
      await asks('answered', 'answered');
      expect(sentOn.every((id) => id > 3)).toBe(isRenewed);
      expect(dead).toHaveLength(isRenewed ? 1 : 0);
      // Those that are new stay.
      expect(await asks('answered', 'answered')).toEqual([[], []]);
      expect(fake.clients).toHaveLength(isRenewed ? 5 : 3);
    },
  );

  it('leaves sessions behind that hang at their COMMIT, up to a limit, and goes on when the server has them no more', async () => {
    for (let count = 1; count <= 6; count += 1) {
      await asks(silent());
      left.push(count);
    }
    const sent = sentOn.length;
    ends = ['answered', 'answered'];
    expect(await ask().catch((error: unknown) => error)).toBeInstanceOf(DelayUnavailableError);
    await expect(pool.tryQuery('', [])).rejects.toBeInstanceOf(DelayUnavailableError);
    expect(sentOn).toHaveLength(sent);
    [left, ends] = [[1], []];
    expect(await asks('answered')).toEqual([[]]);
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayUnavailableError } from 'nestjs-delay-queue';
import type { DataSource } from 'typeorm';
import { BorrowedConnection } from '../../../src/delay-queue/core/database/borrowed-connection.js';
import { signal } from '../../support/delay-node.js';

const LIMIT_MS = 15_000;

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

it('the wait for a connection and for its first answer share one limit; a later answer has the whole of it', async () => {
  const connected = signal<{ end: () => Promise<void> }>();
  const answers: (() => void)[] = [];
  const runner = {
    connect: () => connected.promise,
    query: () => new Promise<void>((resolve) => answers.push(resolve)),
  };
  const dataSource = { createQueryRunner: () => runner } as unknown as DataSource;
  const refused: unknown[] = [];
  const take = async (statements: number): Promise<void> => {
    const connection = await BorrowedConnection.take(dataSource, LIMIT_MS);
    for (let n = 0; n < statements; n += 1) await connection.query('', []);
  };
  for (const statements of [1, 2]) {
    void take(statements).catch((error: unknown) => refused.push([statements, error]));
  }
  const waitMs = LIMIT_MS / 2;
  await jest.advanceTimersByTimeAsync(waitMs);
  connected.resolve({ end: () => Promise.resolve() });
  await jest.advanceTimersByTimeAsync(0);
  // The second of the two goes on, and falls silent then.
  answers[1]!();
  await jest.advanceTimersByTimeAsync(waitMs - 1);
  expect(refused).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(refused).toEqual([[1, expect.any(Error)]]);
  await jest.advanceTimersByTimeAsync(waitMs);
  expect(refused).toHaveLength(2);
});

describe('a connection that is lent', () => {
  let ends: number;
  let released: number;
  let answer: Promise<unknown>;

  const take = (connecting: Promise<unknown> = Promise.resolve({ end: async () => (ends += 1) })) =>
    BorrowedConnection.take(
      {
        createQueryRunner: (mode: string) => ({
          mode,
          connect: () => connecting,
          query: () => answer,
          release: async () => void (released += 1),
        }),
      } as unknown as DataSource,
      LIMIT_MS,
    );

  beforeEach(() => {
    [ends, released] = [0, 0];
  });

  it('is of the master', async () => {
    expect((await take()).runner).toMatchObject({ mode: 'master' });
  });

  it.each([
    ['the server refused its statement', '23505', 0],
    ['its transaction had failed', '25P02', 1],
    ['it was ended', '57P01', 1],
    ['whatever has no code', undefined, 1],
  ])('is closed after an error, unless the server refused: %s', async (_, code, closed) => {
    const connection = await take();
    answer = Promise.reject(Object.assign(new Error('no'), { code }));
    await expect(connection.query('', [])).rejects.toThrow('no');
    expect(ends).toBe(closed);
    await connection.release();
    expect(released).toBe(1);
  });

  it('is closed once when it is silent', async () => {
    const connection = await take();
    answer = new Promise(() => {});
    const asked = [connection.query('', []), connection.query('', [])].map((each) =>
      expect(each).rejects.toThrow(`did not answer within ${LIMIT_MS} ms`),
    );
    await jest.advanceTimersByTimeAsync(LIMIT_MS);
    await Promise.all(asked);
    expect(ends).toBe(1);
  });

  it('that comes too late is given back, and that never comes says why', async () => {
    const late = signal<object>();
    const refusal = take(late.promise).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(String(await refusal)).toContain('came free within 10000 ms');
    expect(released).toBe(0);
    late.resolve({});
    await jest.advanceTimersByTimeAsync(0);
    expect(released).toBe(1);
    const failing = take(Promise.reject(new Error('too many clients')));
    await expect(failing).rejects.toMatchObject({
      constructor: DelayUnavailableError,
      message: expect.stringContaining('(too many clients)') as never,
    });
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what a driver of another kind may do
    const odd = take(Promise.reject({ code: 7 }));
    await expect(odd).rejects.toThrow(/had no connection(?! \()/);
    expect(jest.getTimerCount()).toBe(0);
  });
});

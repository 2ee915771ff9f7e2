import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { BorrowedConnection } from '../../../src/delay-queue/database/borrowed-connection.js';
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

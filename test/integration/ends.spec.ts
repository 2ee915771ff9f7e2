import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DelayTimeoutError, DiscardDelay } from 'nestjs-delay-queue';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';

/** What events and the log say of an attempt's end. */
class NoStock extends Error {
  override readonly name = 'NoStock';
}

const thrown = new NoStock('sku 7\nis gone');
const LASTS_MS = 40;
const lines: string[] = [];
let database: TestDatabase;
let node: DelayNode;

const lasts = () => new Promise<void>((resolve) => setTimeout(resolve, LASTS_MS));
const fails = async (): Promise<void> => {
  await lasts();
  throw thrown;
};

beforeAll(async () => {
  database = await createTestDatabase();
  node = await startNode({
    url: database.url,
    providers: [
      plainHandler('test.plain', lasts),
      fencedHandler('test.fenced', lasts),
      plainHandler('test.tries', fails, { maxAttempts: 2, backoff: () => 0 }),
      plainHandler('test.discards', () => Promise.reject(new DiscardDelay('too late'))),
      plainHandler('test.hangs', () => lasts(), { timeout: 5, maxAttempts: 1 }),
    ],
    logger: ['error', 'warn'],
  });
  Logger.overrideLogger({
    log: () => {},
    warn: (line: string) => lines.push(line),
    error: (line: string) => lines.push(line),
  });
});

afterAll(async () => {
  Logger.overrideLogger(false);
  await node.stop();
  await database.drop();
});

const now = { after: 0, key: 'k' } as const;

describe('an attempt', () => {
  it.each(['test.plain', 'test.fenced'] as const)('of %s tells how long it took', async (name) => {
    const completed = node.next('completed', (event) => event.name === name);
    await node.delays.schedule(name, null, now);
    // Timers of Node may be a millisecond early.
    expect((await completed).durationMs).toBeGreaterThanOrEqual(LASTS_MS - 1);
  });

  it('that fails tells what was thrown, and the log where, once', async () => {
    const retrying = node.next('retrying');
    const dead = node.next('dead');
    await node.delays.schedule('test.tries', null, now);
    for (const { cause, error, durationMs } of [await retrying, await dead]) {
      expect(cause).toBe(thrown);
      expect(error).toBe('NoStock: sku 7\nis gone');
      expect(durationMs).toBeGreaterThanOrEqual(LASTS_MS - 1);
    }
    const told = lines.splice(0);
    expect(told).toHaveLength(2);
    for (const line of told) {
      expect(line.split('sku 7')).toHaveLength(2);
      expect(line).toMatch(/sku 7\nis gone\n\s+at .*ends\.spec/);
    }
  });

  it('that is discarded, or takes too long, tells that', async () => {
    for (const [name, cause] of [
      ['test.discards', 'too late'],
      ['test.hangs', expect.any(DelayTimeoutError)],
    ] as const) {
      const dead = node.next('dead', (event) => event.name === name);
      await node.delays.schedule(name, null, now);
      expect(await dead).toMatchObject({ cause, durationMs: expect.any(Number) });
    }
  });
});

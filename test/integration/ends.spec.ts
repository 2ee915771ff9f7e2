import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type DelayContext, DelayTimeoutError, DiscardDelay } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';

/** What events and the log say of an attempt's end. */
class NoStock extends Error {
  override readonly name = 'NoStock';
}

const thrown = new NoStock('sku 7\nis gone');
const LASTS_MS = 40;
/** Timers of Node may be a millisecond early. */
const LASTED = LASTS_MS - 1;
const lines: string[] = [];

const lasts = () => new Promise<void>((resolve) => setTimeout(resolve, LASTS_MS));
const fails = async (): Promise<void> => {
  await lasts();
  throw thrown;
};

/** Not for a time: on a slow machine the handler would end while the engine asks what it waits for. */
const untilCut = (_: unknown, { signal }: DelayContext): Promise<void> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const node = new OneNode({
  providers: [
    plainHandler('test.plain', lasts),
    fencedHandler('test.fenced', lasts),
    plainHandler('test.tries', fails, { maxAttempts: 2, backoff: () => 0 }),
    plainHandler('test.discards', () => Promise.reject(new DiscardDelay('too late'))),
    plainHandler('test.hangs', untilCut, { timeout: 5, maxAttempts: 1 }),
  ],
  logger: ['error', 'warn'],
});

const keep = (line: string): void => void lines.push(line);

beforeAll(() => {
  Logger.overrideLogger({ log: () => {}, warn: keep, error: keep });
});

afterAll(() => Logger.overrideLogger(false));

const now = { after: 0, key: 'k' } as const;

it.each(['test.plain', 'test.fenced'] as const)('%s tells how long it took', async (name) => {
  const completed = node.next('completed');
  await node.delays.schedule(name, null, now);
  expect((await completed).durationMs).toBeGreaterThanOrEqual(LASTED);
});

it('an attempt that fails tells what was thrown, and the log where, once', async () => {
  const [retrying, dead] = [node.next('retrying'), node.next('dead')];
  await node.delays.schedule('test.tries', null, now);
  for (const event of [await retrying, await dead]) {
    const { cause, error, durationMs } = event;
    expect(cause).toBe(thrown);
    expect({ ...event }).not.toHaveProperty('cause');
    expect(error).toBe('NoStock: sku 7\nis gone');
    expect(durationMs).toBeGreaterThanOrEqual(LASTED);
  }
  const told = lines.splice(0);
  expect(told).toHaveLength(2);
  for (const line of told) {
    expect(line.split('sku 7')).toHaveLength(2);
    expect(line).toMatch(/sku 7\\nis gone\n\s+at .*ends\.spec/);
  }
});

it.each([
  ['is discarded', 'test.discards', 'too late'],
  ['takes too long', 'test.hangs', expect.any(DelayTimeoutError)],
] as const)('an attempt that %s tells that', async (_, name, cause) => {
  const dead = node.next('dead');
  await node.delays.schedule(name, null, now);
  expect(await dead).toMatchObject({ cause, durationMs: expect.any(Number) });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayAdmin,
  DelayError,
  DelayEvents,
  DelayService,
  DiscardDelay,
  PostponeDelay,
} from 'nestjs-delay-queue';
import { Stage } from '../integration/engine/support/stage.js';
import { appModule, fencedHandler, plainHandler } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { ACTING, FORGED, HOSTILE, isHarmless } from './corpus/acting-texts.js';

/** As a caller without types. */
type Untyped = Record<string, (...given: unknown[]) => Promise<unknown>>;

const lines: string[] = [];
const note = (...said: unknown[]): void => void lines.push(...said.map(String));
let stage: Stage;
let app: INestApplicationContext;
let ended = 0;

const hostileError = (text: string): Error => {
  const error = new Error(`${text}\n    at evil (${text})`, { cause: new Error(text) });
  error.name = text;
  return error;
};

const once = { maxAttempts: 1 };
const FAILING = [
  plainHandler('test.throws', ({ key }) => {
    throw hostileError(String(key));
  }),
  plainHandler(
    'test.throwsText',
    ({ key }) => {
      // oxlint-disable-next-line typescript/only-throw-error -- as users do
      throw key;
    },
    once,
  ),
  plainHandler(
    'test.discards',
    ({ key }) => {
      throw new DiscardDelay(String(key));
    },
    once,
  ),
  plainHandler(
    'test.postpones',
    ({ key, attempt }) => {
      if (attempt === 1) throw new PostponeDelay(String(key));
    },
    once,
  ),
  plainHandler('test.hangs', () => new Promise(() => {}), { ...once, timeout: 100 }),
  fencedHandler(
    'test.sql',
    async ({ key }, { manager }) => {
      await manager.query(`SELECT '${String(key).replaceAll("'", '')}'::int`);
    },
    once,
  ),
  plainHandler(
    'test.backoff',
    ({ key }) => {
      throw hostileError(String(key));
    },
    {
      maxAttempts: 2,
      backoff: () => {
        throw hostileError(HOSTILE.join());
      },
    },
  ),
];
const NAMES = ['throws', 'throwsText', 'discards', 'postpones', 'hangs', 'sql'] as const;

beforeAll(async () => {
  stage = await Stage.open();
  process.env['DELAY_QUEUE_DEBUG'] = '*';
  app = await NestFactory.createApplicationContext(
    appModule({ url: stage.url, providers: FAILING }),
    {
      logger: { verbose: note, debug: note, log: () => {}, warn: note, error: note, fatal: note },
      abortOnError: false,
    },
  ).finally(() => delete process.env['DELAY_QUEUE_DEBUG']);
  app.get(DelayEvents).on('dead', () => void (ended += 1));
});

afterAll(async () => {
  await app.close();
  await stage.close();
});

it('whatever a key, a group or an error says, each line of the log is one line, and nothing in it acts', async () => {
  const items = NAMES.flatMap((name) =>
    HOSTILE.map((key) => ({
      name: `test.${name}` as const,
      payload: null,
      key,
      group: key,
      headers: { of: key },
      maxAttempts: 1,
      after: 0,
    })),
  );
  await app.get(DelayService).scheduleMany(items);
  await until(
    () => ended,
    (count) => count >= items.length,
  );
  expect(lines.filter((line) => line.includes(FORGED)).length).toBeGreaterThan(items.length);
  expect(lines.filter((line) => !isHarmless(line))).toEqual([]);
});

it('no error of the library has a line break or anything that acts in its message, wherever the text stood', async () => {
  const delays: Untyped = app.get(DelayService);
  const admin: Untyped = app.get(DelayAdmin);
  const refused: unknown[] = [];
  const call = (make: () => unknown): Promise<unknown> =>
    Promise.resolve()
      .then(make)
      .catch((error: unknown) => refused.push(error));
  for (const text of HOSTILE) {
    const options = [
      { after: text },
      { at: text },
      { after: 1, [text]: 1 },
      { after: 1, group: 7, key: text },
      { after: 1, key: `${text}\0` },
      { after: 1, group: `${text}\ud800` },
      { after: 1, onConflict: text },
      { after: 1, running: text },
      { after: 1, headers: { [text]: 1 } },
      { after: 1, headers: { a: `${text}\0` } },
      { after: 1, maxAttempts: text },
      { after: 1, manager: text },
      { after: 1, maxWait: text },
      { every: text },
      { cron: text, timeZone: text },
      { after: 1, repeat: { cron: text } },
    ];
    for (const each of options) await call(() => delays.schedule!('test.a', null, each));
    const payloads = [{ [text]: undefined }, { [text]: { [text]: NaN } }, [{ [text]: 1n }]];
    for (const payload of payloads) {
      await call(() => delays.schedule!('test.a', payload, { after: 1 }));
    }
    await call(() => delays.schedule!(text, null, { after: 1 }));
    await call(() => delays.scheduleMany!([{ name: 'test.a', payload: null, after: text }]));
    await call(() => delays.cancel!(text, text, { [text]: 1 }));
    await call(() => delays.cancel!('test.a', 'a', { running: text }));
    await call(() => delays.cancelMany!([{ name: text, key: text }]));
    await call(() => delays.cancelMany!([{ id: text }]));
    await call(() => delays.reschedule!('test.a', 'a', { after: text }));
    await call(() => delays.find!('test.a', `${text}\0`));
    await call(() => admin.pause!({ name: text }));
    await call(() => admin.pause!({ name: 'test.a', group: `${text}\0` }));
    await call(() => admin.list!({ [text]: 1 }));
    await call(() => admin.list!({ state: text }));
    await call(() => admin.list!({ headers: { [text]: 1 } }));
    await call(async () => {
      const key = { key: text, after: '1h' };
      await delays.schedule!('test.later', null, key);
      await delays.schedule!('test.later', null, { ...key, onConflict: 'error' });
    });
  }
  expect(refused.length).toBeGreaterThan(20 * HOSTILE.length);
  const ours = refused.filter((error) => error instanceof DelayError);
  expect(refused.filter((error) => !ours.includes(error as DelayError))).toEqual([]);
  expect(ours.filter(({ message }) => ACTING.test(message)).map(({ message }) => message)).toEqual(
    [],
  );
  for (const { message } of ours) expect(message.length).toBeLessThan(10_000);
});

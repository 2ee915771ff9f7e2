import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext, LoggerService, Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayEvents, DelayService, DiscardDelay } from 'nestjs-delay-queue';
import { once } from 'node:events';
import { DataSource } from 'typeorm';
import { appModule, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

const VARIABLE = 'DELAY_QUEUE_DEBUG';
const SECRET = 'card 4111 1111';

/** What the library logs, as `level text`. */
class Lines implements LoggerService {
  readonly all: string[] = [];
  log = (text: string, context?: string) => this.#keep('log', text, context);
  warn = (text: string, context?: string) => this.#keep('warn', text, context);
  error = (text: string, context?: string) => this.#keep('error', text, context);
  debug = (text: string, context?: string) => this.#keep('debug', text, context);

  #keep(level: string, text: string, context: string | undefined): void {
    if (context === 'DelayQueue') this.all.push(`${level} ${text}`);
  }

  /** Of the trace, without what differs from run to run. */
  get steps(): string[] {
    return this.all
      .filter((line) => line.startsWith('debug '))
      .map((line) =>
        line
          .slice('debug '.length)
          .replace(/ #\d+/, '')
          .replace(/[-\d.]+ ms/, '… ms')
          .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, '…'),
      );
  }
}

let stage: Stage;
let app: INestApplicationContext;
let lines: Lines;
let delays: DelayService;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

afterEach(() => stage.sql('TRUNCATE delay_queue.delay'));

async function start(trace: string | undefined, providers: Provider[]): Promise<void> {
  if (trace !== undefined) process.env[VARIABLE] = trace;
  const options = { backoff: { base: 5, jitter: 0 } };
  const module = appModule({ url: stage.url, providers, options });
  lines = new Lines();
  app = await NestFactory.createApplicationContext(module, { logger: lines, abortOnError: false });
  delete process.env[VARIABLE];
  delays = app.get(DelayService);
}

/** By then the trace has heard of it too: it listens since the start. */
const ended = (event: 'completed' | 'dead') => once(app.get(DelayEvents), event);

const isCall = (line: string): boolean => /: (re)?(scheduled|placed|tried),/.test(line);

/** Of the trace: a delay that is due at once may run before its caller has the answer. */
const sides = () => ({
  calls: lines.steps.filter(isCall),
  runs: lines.steps.filter((line) => !isCall(line)),
});

const noop = (name: `test.${string}`) => plainHandler(name, () => {});

describe('DELAY_QUEUE_DEBUG follows names, and names with a key, and', () => {
  beforeAll(() =>
    start('test.flaky, test.dying,test.noop,test.two:a:1', [
      fencedHandler('test.flaky', ({ attempt, payload }) => {
        if (attempt === 1) throw new Error(`no luck with ${JSON.stringify(payload)}`);
      }),
      plainHandler('test.dying', () => {
        throw new DiscardDelay(SECRET);
      }),
      noop('test.noop'),
      noop('test.two'),
    ]),
  );

  afterAll(() => app.close());

  beforeEach(() => void (lines.all.length = 0));

  it('tells the life of a delay that fails once, without its payload or its error', async () => {
    await delays.schedule('test.flaky', { SECRET }, { after: '1h', key: 'k' });
    const completed = ended('completed');
    await delays.schedule('test.flaky', { SECRET }, { after: 0, key: 'k' });
    await completed;
    expect(sides()).toEqual({
      calls: ['test.flaky (k): scheduled, wakes at …', 'test.flaky (k): replaced, wakes at …'],
      runs: [
        'test.flaky (k): handler called, attempt 1 of 10, … ms late',
        'test.flaky (k): failed, attempt 1 of 10, again in … ms',
        'test.flaky (k): handler called, attempt 2 of 10, … ms late',
        'test.flaky (k): completed, attempt 2 of 10',
      ],
    });
    const traced = lines.all.filter((line) => line.startsWith('debug '));
    expect(traced.join()).not.toContain(SECRET);
  });

  it('tells of dead letters, of their retry, and of what is moved', async () => {
    await delays.schedule('test.dying', SECRET, { after: '1h', key: 'k' });
    let dead = ended('dead');
    await delays.reschedule('test.dying', 'k', { after: 0 });
    await dead;
    dead = ended('dead');
    await delays.retryDead('test.dying', 'k');
    await dead;
    const run = [
      'test.dying (k): handler called, attempt 1 of 10, … ms late',
      'test.dying (k): dead letter after attempt 1',
    ];
    const calls = ['scheduled', 'rescheduled', 'retried'].map(
      (verdict) => `test.dying (k): ${verdict}, wakes at …`,
    );
    expect(sides()).toEqual({ calls, runs: [...run, ...run] });
  });

  it('tells of writes after the commit of their transaction, and not of those rolled back', async () => {
    const dataSource = app.get(DataSource);
    const doomed = dataSource.transaction(async (manager) => {
      await delays.schedule('test.noop', null, { after: '1h', key: 'doomed', manager });
      throw new Error('no');
    });
    await expect(doomed).rejects.toThrow('no');
    await dataSource.transaction(async (manager) => {
      await delays.schedule('test.noop', null, { after: '1h', key: 'k', manager });
      expect(lines.steps).toEqual([]);
    });
    await delays.cancel('test.noop', 'k');
    expect(lines.steps).toEqual([
      'test.noop (k): scheduled, wakes at …',
      'test.noop (k): cancelled',
    ]);
  });

  it('tells of no other', async () => {
    const later = { payload: null, after: '1h' } as const;
    await delays.scheduleMany([
      { name: 'test.noop', ...later },
      { name: 'test.two', key: 'a:1', ...later },
      { name: 'test.two', key: 'a:2', ...later },
      { name: 'test.two', ...later },
      { name: 'test.three', ...later },
    ]);
    expect(lines.steps.toSorted()).toEqual([
      'test.noop: scheduled, wakes at …',
      'test.two (a:1): scheduled, wakes at …',
    ]);
  });
});

describe('DELAY_QUEUE_DEBUG', () => {
  afterEach(() => app.close());

  it('warns of what is no name, and follows the rest', async () => {
    await start('test.noop,,order close', [noop('test.noop')]);
    expect(lines.all[0]).toBe(
      'warn DELAY_QUEUE_DEBUG holds "", "order close", which no delay can have: ' +
        "write names, 'name:key' or '*', with commas between them",
    );
    await delays.schedule('test.noop', null, { after: '1h' });
    expect(lines.steps).toEqual(['test.noop: scheduled, wakes at …']);
  });

  it.each([undefined, '  '])('says nothing when it is %j', async (value) => {
    await start(value, [noop('test.noop')]);
    const completed = ended('completed');
    await delays.schedule('test.noop', null, { after: 0 });
    await completed;
    expect(app.get(DelayEvents).isHeard('started')).toBe(false);
    await app.close();
    expect(lines.all).toEqual([
      expect.stringMatching(/^log node .* serves test\.noop$/),
      expect.stringMatching(/^log .*stopped/),
    ]);
  });

  it('of all, with a logger that throws, disturbs neither the caller nor the handler', async () => {
    await start('*', [noop('test.noop')]);
    let said = 0;
    lines.debug = () => {
      said += 1;
      throw new Error('the disk is full');
    };
    const completed = ended('completed');
    const { verdict } = await delays.schedule('test.noop', null, { after: 0 });
    await completed;
    expect(verdict).toBe('scheduled');
    expect(said).toBe(3);
  });
});

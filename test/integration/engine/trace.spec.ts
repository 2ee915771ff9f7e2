import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext, LoggerService, Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayEvents, DelayService, DiscardDelay } from 'nestjs-delay-queue';
import { once } from 'node:events';
import { DataSource } from 'typeorm';
import { appModule, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

const VARIABLE = 'DELAY_QUEUE_DEBUG';
const SECRET = 'card 4111 1111';

const isCall = (line: string): boolean => /: (re)?(scheduled|placed|tried),/.test(line);

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

  /** Of the trace, what callers did, and what the node did: a delay that is due at once may run before its caller has the answer. */
  get sides(): { calls: string[]; runs: string[] } {
    return {
      calls: this.steps.filter(isCall),
      runs: this.steps.filter((line) => !isCall(line)),
    };
  }
}

let stage: Stage;
let app: INestApplicationContext | undefined;
let lines: Lines;

beforeEach(async () => {
  stage = await Stage.open();
  lines = new Lines();
});

afterEach(async () => {
  delete process.env[VARIABLE];
  await app?.close();
  app = undefined;
  await stage.close();
});

async function start(trace: string | undefined, providers: Provider[]): Promise<DelayService> {
  if (trace !== undefined) process.env[VARIABLE] = trace;
  const options = { backoff: { base: 5, jitter: 0 } };
  const module = appModule({ url: stage.url, providers, options });
  app = await NestFactory.createApplicationContext(module, { logger: lines, abortOnError: false });
  return app.get(DelayService);
}

/** By then the trace has heard of it too: it listens since the start. */
const ended = (event: 'completed' | 'dead') => once(app!.get(DelayEvents), event);

const noop = (name: `test.${string}`) => plainHandler(name, () => {});

describe('DELAY_QUEUE_DEBUG', () => {
  it('tells the life of a delay that fails once, without its payload or its error', async () => {
    const flaky = fencedHandler('test.flaky', ({ attempt, payload }) => {
      if (attempt === 1) throw new Error(`no luck with ${JSON.stringify(payload)}`);
    });
    const delays = await start('test.flaky', [flaky]);
    await delays.schedule('test.flaky', { SECRET }, { after: '1h', key: 'k' });
    const completed = ended('completed');
    await delays.schedule('test.flaky', { SECRET }, { after: 0, key: 'k' });
    await completed;
    expect(lines.sides).toEqual({
      calls: ['test.flaky (k): scheduled, wakes at …', 'test.flaky (k): replaced, wakes at …'],
      runs: [
        'test.flaky (k): handler called, attempt 1 of 10, … ms late',
        'test.flaky (k): failed, attempt 1 of 10, again in … ms',
        'test.flaky (k): handler called, attempt 2 of 10, … ms late',
        'test.flaky (k): completed, attempt 2 of 10',
      ],
    });
    const traced = lines.all.filter((line) => line.startsWith('debug '));
    expect(traced.filter((line) => line.includes(SECRET))).toEqual([]);
  });

  it('tells of dead letters, of their retry, and of what is moved', async () => {
    const dying = plainHandler('test.dying', () => {
      throw new DiscardDelay(SECRET);
    });
    const delays = await start('*', [dying]);
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
    expect(lines.sides).toEqual({
      calls: [
        'test.dying (k): scheduled, wakes at …',
        'test.dying (k): rescheduled, wakes at …',
        'test.dying (k): retried, wakes at …',
      ],
      runs: [...run, ...run],
    });
  });

  it('tells of writes after the commit of their transaction, and not of those rolled back', async () => {
    const delays = await start('test.noop', [noop('test.noop')]);
    const dataSource = app!.get(DataSource);
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

  it('follows a name with a key, and no other', async () => {
    const delays = await start('test.one, test.two:a:1', [noop('test.one'), noop('test.two')]);
    await delays.scheduleMany([
      { name: 'test.one', payload: null, after: '1h' },
      { name: 'test.two', payload: null, after: '1h', key: 'a:1' },
      { name: 'test.two', payload: null, after: '1h', key: 'a:2' },
      { name: 'test.two', payload: null, after: '1h' },
      { name: 'test.three', payload: null, after: '1h' },
    ]);
    expect(lines.steps.toSorted()).toEqual([
      'test.one: scheduled, wakes at …',
      'test.two (a:1): scheduled, wakes at …',
    ]);
  });

  it('warns of what is no name, and follows the rest', async () => {
    const delays = await start('test.noop,,order close', [noop('test.noop')]);
    expect(lines.all[0]).toBe(
      'warn DELAY_QUEUE_DEBUG holds "", "order close", which no delay can have: ' +
        "write names, 'name:key' or '*', with commas between them",
    );
    await delays.schedule('test.noop', null, { after: '1h' });
    expect(lines.steps).toEqual(['test.noop: scheduled, wakes at …']);
  });

  it.each([undefined, '', '  '])('says nothing when it is %j', async (value) => {
    const delays = await start(value, [noop('test.noop')]);
    const completed = ended('completed');
    await delays.schedule('test.noop', null, { after: 0 });
    await completed;
    expect(lines.all).toEqual([expect.stringMatching(/^log node .* serves test\.noop$/)]);
    expect(app!.get(DelayEvents).isHeard('started')).toBe(false);
  });

  it('a logger that throws disturbs neither the caller nor the handler', async () => {
    lines.debug = () => {
      throw new Error('the disk is full');
    };
    const delays = await start('*', [noop('test.noop')]);
    const completed = ended('completed');
    const { verdict } = await delays.schedule('test.noop', null, { after: 0 });
    await completed;
    expect(verdict).toBe('scheduled');
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const handlers = { plain: plainHandler, transactional: fencedHandler };
const KINDS = ['plain', 'transactional'] as const;

describe.each(KINDS)('a %s handler', (kind) => {
  it('postpones: no attempt is spent, and due moves along', async () => {
    const node = await stage.start({
      providers: [
        handlers[kind]('test.postpone', () => {
          throw new PostponeDelay('1h');
        }),
      ],
    });
    const postponed = node.next('postponed');
    const { dueAt } = await node.delays.schedule('test.postpone', null, { after: 0, key: 'k' });
    expect(await postponed).toMatchObject({ key: 'k', waitMs: 3_600_000 });
    const found = await node.delays.find('test.postpone', 'k');
    expect(found).toMatchObject({ state: 'scheduled', attempts: 0, lastError: null });
    expect(found!.dueAt.getTime() - dueAt.getTime()).toBeGreaterThanOrEqual(3_600_000);
    expect(found!.wakeAt).toEqual(found!.dueAt);
  });

  it('that postpones by something that is no duration has failed', async () => {
    const node = await stage.start({
      providers: [
        handlers[kind](
          'test.postpone',
          () => {
            throw new PostponeDelay('soon');
          },
          { maxAttempts: 1 },
        ),
      ],
    });
    const dead = node.next('dead');
    await node.delays.schedule('test.postpone', null, { after: 0, key: 'k' });
    expect(await dead).toMatchObject({ error: expect.stringContaining('not "soon"') });
  });

  it.each([
    ['a reason', 'no such order', 'no such order'],
    ['a reason Postgres cannot store', 'a\0b\uD800', 'a\uFFFDb\uFFFD'],
    ['no text', undefined as never, 'undefined'],
  ])(
    'discards with %s: a dead letter at once, whatever attempts are left',
    async (_, reason, text) => {
      const node = await stage.start({
        providers: [
          handlers[kind]('test.discard', ({ key }) => {
            if (key === 'k') throw new DiscardDelay(reason);
          }),
        ],
      });
      const dead = node.next('dead');
      await node.delays.schedule('test.discard', null, { after: 0, key: 'k' });
      expect(await dead).toMatchObject({ key: 'k', attempt: 1, error: text });
      const found = await node.delays.find('test.discard', 'k');
      expect(found).toMatchObject({ state: 'dead', attempts: 1, lastError: text });
    },
  );

  it('gets its first attempt counted before it runs, up to what schedule said', async () => {
    const seen: unknown[] = [];
    const node = await stage.start({
      providers: [
        handlers[kind](
          'test.fail',
          async ({ attempt, maxAttempts }) => {
            const [row] = await stage.sql('SELECT attempts FROM delay_queue.delay');
            seen.push({ attempt, maxAttempts, stored: row?.['attempts'] });
            throw new Error('no');
          },
          { maxAttempts: 7 },
        ),
      ],
    });
    const dead = node.next('dead');
    await node.delays.schedule('test.fail', null, { after: 0, key: 'k', maxAttempts: 2 });
    await dead;
    expect(seen).toEqual([
      { attempt: 1, maxAttempts: 2, stored: 1 },
      { attempt: 2, maxAttempts: 2, stored: 2 },
    ]);
  });
});

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;
const { proxy: revoked, revoke } = Proxy.revocable(new Error('gone'), {});
revoke();
const hostile = new Error('fine');
Object.defineProperty(hostile, 'message', {
  get() {
    throw new Error('from a getter');
  },
});

const THROWN: [what: string, thrown: unknown, stored: unknown][] = [
  ['null', null, 'null'],
  ['undefined', undefined, 'undefined'],
  ['a string', 'just text', 'just text'],
  ['a number', 42, '42'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['a cycle', cycle, expect.stringContaining('self: [Circular')],
  ['an error with NUL in its text', new Error('a\0b'), 'Error: a\uFFFDb'],
  ['an error with a lone surrogate', new Error('a\uD800b'), 'Error: a\uFFFDb'],
  ['an error whose message cannot be read', hostile, expect.any(String)],
  ['a revoked proxy', revoked, expect.any(String)],
  [
    'an error of ten megabytes',
    new Error('x'.repeat(10_000_000)),
    expect.stringMatching(/^Error: x+…$/),
  ],
];

describe('whatever a handler throws', () => {
  it.each(THROWN)('%s: fails the attempt, and the others go on', async (_, thrown, stored) => {
    const node = await stage.start({
      providers: [
        plainHandler(
          'test.sync',
          ({ key }) => {
            if (key === 'bad') throw thrown;
          },
          { maxAttempts: 1 },
        ),
        fencedHandler(
          'test.async',
          async ({ key }) => {
            await Promise.resolve();
            if (key === 'bad') throw thrown;
          },
          { maxAttempts: 1 },
        ),
      ],
    });
    for (const name of ['test.sync', 'test.async'] as const) {
      const dead = node.next('dead', (event) => event.name === name);
      await node.delays.schedule(name, null, { after: 0, key: 'bad' });
      await dead;
      const error = (await node.delays.find(name, 'bad'))?.lastError;
      expect(error).toEqual(stored);
      const good = node.next('completed', (event) => event.name === name);
      await node.delays.schedule(name, null, { after: 0, key: 'good' });
      await good;
    }
  });
});

import { describe, expect, it } from '@jest/globals';
import { type DelayEventMap, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';

interface Acting {
  attempt: number;
  maxAttempts: number;
}

/** What the handlers do: the plain one at once, the transactional one a moment later. */
let act: (delay: Acting) => unknown;

const node = new OneNode({
  providers: [
    plainHandler('test.plain', (delay) => act(delay) as void),
    fencedHandler('test.fenced', async (delay) => {
      await Promise.resolve();
      await act(delay);
    }),
  ],
});

const NAMES = ['test.plain', 'test.fenced'] as const;
type Name = (typeof NAMES)[number];

/** Has the handler do it, until its attempts have ended like that. */
async function ends<Event extends 'completed' | 'dead' | 'postponed'>(
  event: Event,
  name: Name,
  handle: typeof act,
  maxAttempts = 10,
): Promise<{ ended: DelayEventMap[Event][0]; dueAt: Date }> {
  act = handle;
  const ended = node.next(event);
  const { dueAt } = await node.delays.schedule(name, null, { after: 0, key: 'k', maxAttempts });
  return { ended: await ended, dueAt };
}

describe.each(NAMES)('the handler of %s', (name) => {
  it('postpones: no attempt is spent, and due moves along', async () => {
    const { ended, dueAt } = await ends('postponed', name, () => {
      throw new PostponeDelay('1h');
    });
    expect(ended).toMatchObject({ key: 'k', waitMs: 3_600_000 });
    const found = await node.delays.find(name, 'k');
    expect(found).toMatchObject({ state: 'scheduled', attempts: 0, lastError: null });
    expect(found!.dueAt.getTime() - dueAt.getTime()).toBeGreaterThanOrEqual(3_600_000);
    expect(found!.wakeAt).toEqual(found!.dueAt);
  });

  it('that postpones by nothing does not spin: it is called again in a tenth of a second', async () => {
    const { ended } = await ends('postponed', name, ({ attempt }) => {
      expect(attempt).toBe(1);
      throw new PostponeDelay(0);
    });
    expect(ended.waitMs).toBe(100);
    await node.delays.cancel(name, 'k', { running: 'abort' });
  });

  it('gets each attempt counted before it runs, up to what schedule said', async () => {
    const seen: unknown[] = [];
    const fails = async ({ attempt, maxAttempts }: Acting): Promise<never> => {
      const [row] = await node.sql('SELECT attempts FROM delay_queue.delay');
      seen.push({ attempt, maxAttempts, stored: row?.['attempts'] });
      throw new Error('no');
    };
    await ends('dead', name, fails, 2);
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
const TEN_MEGABYTES = new Error('x'.repeat(10_000_000));

const discarded = (reason?: string) => new DiscardDelay(reason as string);

const THROWN: [what: string, thrown: unknown, stored: unknown, maxAttempts?: number][] = [
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
  ['an error of ten megabytes', TEN_MEGABYTES, expect.stringMatching(/^Error: x+…$/)],
  ['a postponement by no duration', new PostponeDelay('soon'), expect.stringContaining('"soon"')],
  // At once, whatever attempts are left.
  ['a reason to discard', discarded('no such order'), 'no such order', 10],
  ['one that Postgres cannot store', discarded('a\0b\uD800'), 'a\uFFFDb\uFFFD', 10],
  ['none', discarded(), 'undefined', 10],
];

it.each(THROWN)(
  'whatever a handler throws: %s makes a dead letter, and the others go on',
  async (_, thrown, stored, maxAttempts = 1) => {
    for (const name of NAMES) {
      const throws = (): never => {
        throw thrown;
      };
      const { ended } = await ends('dead', name, throws, maxAttempts);
      expect(ended).toMatchObject({ attempt: 1, error: stored });
      const found = await node.delays.find(name, 'k');
      expect(found).toMatchObject({ state: 'dead', attempts: 1, lastError: stored });
      await ends('completed', name, () => {});
    }
  },
);

import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { OnDelayEvent } from 'nestjs-delay-queue';
import { DelayTestingError } from 'nestjs-delay-queue/testing';
import {
  batchHandler,
  fencedBatchHandler,
  plainHandler,
  signal,
} from '../../support/delay-node.js';
import { fails, startTested, TestedNode, told } from './support/tested.js';

const many = (name: `test.${string}`, keys: (string | undefined)[]) =>
  keys.map((key) => ({ name, payload: null, after: 0, ...(key === undefined ? {} : { key }) }));

const advice: string[] = [];

class Advised {
  @OnDelayEvent('advice')
  hear({ message }: { message: string }): void {
    advice.push(message);
  }
}

const sizes: number[] = [];
const node = new TestedNode(
  { 'test.a': {}, 'test.b': {} },
  {
    providers: [
      Advised,
      fencedBatchHandler(
        'test.batch',
        async (batch, { manager }) => {
          sizes.push(batch.length);
          const keys = batch.map(({ key }) => key);
          await manager.query('INSERT INTO ran SELECT unnest($1::text[])', [keys]);
        },
        { batch: 100 },
      ),
      batchHandler(
        'test.split',
        (batch) => void (batch.some(({ key }) => key === 'b') && fails()),
        {
          batch: 100,
          backoff: { base: '1h', max: '1h', jitter: 0 },
        },
      ),
      batchHandler(
        'test.more',
        async (batch) =>
          void (await node.delays.scheduleMany(
            many(
              'test.more',
              batch.map(() => undefined),
            ),
          )),
        { batch: 1_000 },
      ),
    ],
  },
);

describe('a node that runs by hand', () => {
  it('says so once at its start, and takes no share of the names', async () => {
    expect(advice).toEqual([
      "this node runs handlers only when a test asks for it: its worker is 'manual'",
    ]);
    expect(await node.admin.stats()).toMatchObject({ nodes: [{ names: [] }], names: [] });
  });

  it('runs nothing by itself: neither what is due, nor what is scheduled for now', async () => {
    await node.schedule('test.a', 'overdue', 0);
    const other = await startTested(node, { providers: [plainHandler('test.a', () => {})] });
    await other.stop();
    expect(await node.sql('SELECT FROM delay_queue.node')).toHaveLength(1);
    await node.schedule('test.a', 'now', 0);
    await node.schedule('test.b', 'later', '1h');
    expect(told([await node.testing.fire('test.b', 'later')])).toEqual(['test.b later: completed']);
    expect(told(await node.testing.drain())).toEqual([
      'test.a overdue: completed',
      'test.a now: completed',
    ]);
  });
});

describe('drain', () => {
  it('runs what is due and what that makes due, and no retry before its time', async () => {
    node.does = { 'test.a': () => node.schedule('test.b', 'b', 0), 'test.b': fails };
    await node.schedule('test.a', 'a', 0);
    await node.schedule('test.a', 'later', '1m');
    expect(told(await node.testing.drain())).toEqual(['test.a a: completed', 'test.b b: retrying']);
    expect(await node.testing.drain()).toEqual([]);
    await node.testing.expectScheduled('test.b', 'b', { dueIn: '1h' });
    await node.testing.expectScheduled('test.a', 'later');
  });

  it('runs what is due together: in one batch, in one transaction', async () => {
    await node.sql('CREATE TABLE ran (key text)');
    for (const key of ['a', 'b', 'c']) await node.schedule('test.batch', key, 0);
    const ends = ['a', 'b', 'c'].map((key) => `test.batch ${key}: completed`);
    expect(told(await node.testing.drain())).toEqual(ends);
    expect(sizes).toEqual([3]);
    expect(await node.sql('SELECT key FROM ran')).toHaveLength(3);
  });

  it('tells of a batch that fails, and of each of its delays alone', async () => {
    await node.delays.scheduleMany(many('test.split', ['a', 'b']));
    expect(told(await node.testing.drain())).toEqual([
      'test.split a: split',
      'test.split b: split',
      'test.split a: completed',
      'test.split b: retrying',
    ]);
  });

  it('ends, with an error, where a handler is never through', async () => {
    await node.delays.scheduleMany(many('test.more', Array.from({ length: 1_000 })));
    const error = await node.testing.drain().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DelayTestingError);
    expect((error as Error).message).toMatch(/has run 10000 attempts .* of test\.more/);
  });
});

describe('fire', () => {
  it('tells of an attempt that a cancel has ended', async () => {
    const begun = signal();
    node.does = {
      'test.a': async (_, ctx) => {
        begun.resolve();
        await once(ctx.signal, 'abort');
        throw ctx.signal.reason;
      },
    };
    await node.schedule('test.a', 'a', '1h');
    const run = node.testing.fire('test.a', 'a');
    await begun.promise;
    await node.delays.cancel('test.a', 'a', { running: 'abort' });
    expect(await run).toMatchObject({ key: 'a', outcome: 'aborted' });
  });

  it('runs that one now, wherever its due time, and answers how it ended', async () => {
    await node.delays.schedule('test.a', { n: 1 }, { after: '9d', key: '1' });
    await node.schedule('test.b', '2', '9d');
    node.does = { 'test.b': fails };
    expect(await node.testing.fire('test.a', '1')).toEqual({
      id: expect.any(String),
      name: 'test.a',
      key: '1',
      payload: { n: 1 },
      attempt: 1,
      outcome: 'completed',
      error: null,
      at: expect.any(Date),
      travelledMs: 0,
    });
    expect(await node.testing.fire('test.b', '2')).toMatchObject({ outcome: 'retrying' });
    expect(await node.testing.fire('test.b', '2')).toMatchObject({
      attempt: 2,
      error: 'Error: no',
    });
  });

  it('refuses what does not wait, and says what does', async () => {
    await expect(node.testing.fire('test.a', '1')).rejects.toThrow(
      'test.a of "1" is not waiting: There is no delay of that name',
    );
    await node.schedule('test.a', '2', '90m');
    const refused = node.testing.fire('test.a', '1');
    await expect(refused).rejects.toBeInstanceOf(DelayTestingError);
    await expect(refused).rejects.toThrow(
      /is not waiting: Delays of that name: "2" scheduled, due in 1h (30m|29m 5\ds)$/,
    );
    await expect(node.testing.fire('test.c', '2')).rejects.toThrow(
      'this application has no handler of test.c; it has test.a, test.b',
    );
  });
});

it('clear leaves nothing to run, not even a dead letter', async () => {
  await node.schedule('test.elsewhere', 'x', '1h');
  await node.schedule('test.a', '1', '1h');
  await node.sql(`UPDATE delay_queue.delay SET wake_at = 'infinity' WHERE key = '1'`);
  await node.schedule('test.a', '2', '1h');
  await node.testing.clear();
  expect(await node.sql('SELECT * FROM delay_queue.delay')).toEqual([]);
  expect(await node.testing.advance('2h')).toEqual([]);
});

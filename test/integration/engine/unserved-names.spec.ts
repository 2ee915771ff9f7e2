import { expect, it } from '@jest/globals';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { NodeStore } from '../../support/engine-parts.js';

const stage = stageOfEach();

const QUICK = { loadEvery: '100ms', horizon: '1s' } as const;
const LATER = { after: '1h' } as const;

/**
 * Only schedules; what it is advised of names goes into the list. Whoever serves beats more often than it looks: one
 * that is slow still counts as alive.
 */
async function startProducer(): Promise<DelayNode & { advice: string[] }> {
  const node = await stage.start({ options: { ...QUICK, loadEvery: '400ms', worker: false } });
  const advice: string[] = [];
  node.events.on('advice', ({ message }) => advice.push(message));
  return { ...node, advice };
}

const startServing = (name: `test.${string}`): Promise<DelayNode> =>
  stage.start({ options: QUICK, providers: [plainHandler(name, () => {})] });

/** Resolves when that node is told that nobody serves the name. */
const toldOf = (node: DelayNode, name: string): Promise<unknown> =>
  node.next('advice', ({ message }) =>
    message.startsWith(`no live node has a handler of ${name},`),
  );

it('tells once of a name that was scheduled here and that no live node serves', async () => {
  await startServing('test.served');
  // A process that stood still may ask before its own nodes have beaten again.
  stage.parts.intercept(NodeStore, 'unserved', async ({ real }) => {
    const [asked] = await stage.sql<{ now: Date }>('SELECT clock_timestamp() AS now');
    await stage.until<{ seen: Date }>(
      `SELECT seen_at AS seen FROM delay_queue.node WHERE 'test.served' = ANY (names)`,
      (rows) => rows.every(({ seen }) => seen >= asked!.now),
    );
    return real();
  });
  await (await startServing('test.left')).stop();
  const producer = await startProducer();
  const { delays, advice } = producer;
  const told = Promise.all([toldOf(producer, 'test.nobody'), toldOf(producer, 'test.left')]);
  await delays.scheduleMany([
    { name: 'test.served', payload: null, ...LATER },
    { name: 'test.left', payload: null, ...LATER },
    { name: 'test.nobody', payload: null, ...LATER },
  ]);
  await told;
  const toldOfAnother = toldOf(producer, 'test.another');
  await delays.schedule('test.nobody', null, LATER);
  await delays.schedule('test.another', null, LATER);
  await toldOfAnother;
  expect(advice.map((message) => String(/ of (test\.\w+),/.exec(message)?.[1])).toSorted()).toEqual(
    ['test.another', 'test.left', 'test.nobody'],
  );
});

it('tells at once of a misspelled name, and of the one that was meant', async () => {
  // With three loads of ten seconds, who only waits would be told after the test's time.
  const node = await stage.start({ providers: [plainHandler('test.order', () => {})] });
  const told = node.next('advice', ({ message }) => message.endsWith('Did you mean test.order?'));
  await node.delays.schedule('test.odrer', null, LATER);
  expect((await told).message).toMatch(/^no live node has a handler of test\.odrer, /);
});

it('tells at the start of a misspelled name whose history is kept for a time of its own', async () => {
  const logger = new RecordingLogger();
  const names = { 'test.odrer': '2d', 'test.order': '2d', 'test.elsewhere': '2d' } as const;
  const providers = [plainHandler('test.order', () => {})];
  await stage.start({ options: { history: { names } }, providers, logger });
  const told = logger.lines('warn').filter((line) => line.includes('history.names'));
  expect(told).toEqual([
    expect.stringMatching(/no handler here is named test\.odrer\. Did you mean test\.order\?$/),
  ]);
});

it('asks once for a name, not for each of its delays, and never of what the node serves, or of what a transaction took back', async () => {
  const unserved = stage.parts.intercept(NodeStore, 'unserved');
  const node = await startServing('test.own');
  const { delays, dataSource } = node;
  const told = toldOf(node, 'test.first');
  for (const name of ['test.own', 'test.first', 'test.own', 'test.first'] as const) {
    await delays.schedule(name, null, LATER);
  }
  await told;
  const rolledBack = dataSource.transaction(async (manager) => {
    await delays.schedule('test.undone', null, { ...LATER, manager });
    throw new Error('undone');
  });
  await expect(rolledBack).rejects.toThrow('undone');
  const toldOfSecond = toldOf(node, 'test.second');
  await delays.schedule('test.first', null, LATER);
  await delays.schedule('test.second', null, LATER);
  await toldOfSecond;
  expect(unserved.calls.map(([names]) => names)).toEqual([['test.first'], ['test.second']]);
});

it('asks again at the next write when the database gave no answer', async () => {
  const producer = await startProducer();
  const { delays } = producer;
  const unserved = stage.parts.intercept(NodeStore, 'unserved');
  await stage.sql('ALTER TABLE delay_queue.node RENAME TO away');
  await delays.schedule('test.first', null, LATER);
  await until(
    () => unserved.answers.length,
    (asked) => asked === 1,
  );
  await expect(unserved.answers[0]).rejects.toThrow('does not exist');
  await stage.sql('ALTER TABLE delay_queue.away RENAME TO node');
  const told = toldOf(producer, 'test.first');
  await delays.schedule('test.first', null, LATER);
  await told;
  expect(unserved.calls).toHaveLength(2);
});

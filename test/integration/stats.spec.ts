import { expect, it } from '@jest/globals';
import { plainHandler, signal } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

/** `DelayAdmin`: what there is, who runs it, and what happened around one business key. */

it('stats tell of each name how much there is, and of each node what it serves and runs', async () => {
  const stage = await Stage.open();
  const release = signal();
  const held = () =>
    plainHandler('test.held', () => release.promise, { concurrency: 1, maxAttempts: 1 });
  const fails = plainHandler('test.fails', () => Promise.reject(new Error('no')), {
    maxAttempts: 1,
  });
  const idle = plainHandler('test.idle', () => {});
  const node = await stage.start({ providers: [held(), fails], options: { nodeName: 'a' } });
  await stage.start({ providers: [held(), idle], options: { nodeName: 'b' } });
  const now = { payload: null, after: 0 } as const;
  await node.delays.scheduleMany([
    { ...now, name: 'test.fails' },
    { ...now, name: 'test.fails', after: '1h' },
    ...Array.from({ length: 12 }, () => ({ ...now, name: 'test.held' as const })),
    { ...now, name: 'test.nobody' },
  ]);

  const { names, nodes } = await until(
    () => node.admin.stats(),
    (stats) =>
      stats.nodes.length === 2 &&
      // Names and nodes are read one after the other: what fails may still run in the one and be dead in the other.
      stats.nodes.every(({ running }) => running === 1) &&
      stats.names.some(({ name, running }) => name === 'test.held' && running === 2) &&
      stats.names.some(({ dead }) => dead === 1),
  );
  release.resolve();
  const none = { scheduled: 0, running: 0, retrying: 0, dead: 0 };
  const notHeld = { overduePaused: 0, overdueLimited: 0 };
  const punctual = {
    ...none,
    ...notHeld,
    overdue: 0,
    oldestOverdueMs: null,
    late: 0,
    oldestLateMs: null,
  };
  const ms = expect.any(Number);
  const late = { ...none, ...notHeld, oldestOverdueMs: ms, oldestLateMs: ms };
  expect(names).toEqual([
    { ...punctual, name: 'test.fails', scheduled: 1, dead: 1, nodes: 1 },
    { ...late, name: 'test.held', scheduled: 10, running: 2, overdue: 10, late: 10, nodes: 2 },
    { ...punctual, name: 'test.idle', nodes: 1 },
    { ...late, name: 'test.nobody', scheduled: 1, overdue: 1, late: 1, nodes: 0 },
  ]);
  expect(nodes.map(({ name, running }) => [name, running])).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  expect(nodes[1]?.names.toSorted()).toEqual(['test.held', 'test.idle']);
  for (const { startedAt, seenAt } of nodes) expect(+seenAt).toBeGreaterThanOrEqual(+startedAt);
  await stage.close();
});

it('a story tells of a key across names what waits and what ended', async () => {
  const stage = await Stage.open();
  const node = await stage.start({ providers: [plainHandler('test.done', () => {})] });
  const { delays, admin } = node;
  const later = { after: '1h', key: '42' } as const;
  const completed = node.next('completed');
  await delays.schedule('test.done', null, { after: 0, key: '42' });
  await completed;
  await delays.schedule('test.b', { text: 'x' }, later);
  await delays.cancel('test.b', '42');
  await delays.schedule('test.c', { n: 2 }, later);
  await delays.schedule('test.a', { n: 3 }, later);
  await delays.schedule('test.a', { n: 4 }, { ...later, key: '43' });
  const story = await admin.story('42');
  expect(story.delays.map(({ name, payload }) => [name, payload])).toEqual([
    ['test.c', { n: 2 }],
    ['test.a', { n: 3 }],
  ]);
  expect(story.history.map(({ name, state }) => [name, state])).toEqual([
    ['test.b', 'cancelled'],
    ['test.done', 'completed'],
  ]);
  expect(await admin.story('44')).toEqual({ delays: [], history: [], next: null });
  await stage.close();
});

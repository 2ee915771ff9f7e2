import { expect, it } from '@jest/globals';
import { type DelayNode, plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';

/** One group's sale: more than a node keeps in its ready queue, and than a sweep reads at once. */
const BIG = 12_000;
const SMALL = 10;
/** What a sweep reads before it looks past those, and what was claimed until then. */
const BEGUN_MAX = 6_000;

const stage = stageOfEach();

const scheduleGroup = ({ delays }: DelayNode, group: string, count = 1): Promise<unknown> =>
  delays.scheduleMany(
    Array.from(
      { length: count },
      () => ({ name: 'test.sale', payload: null, after: 0, group }) as const,
    ),
  );

it('the groups of a name run in turn, also behind the backlog of another, and those that come later', async () => {
  await stage.overdue('test.sale', BIG, { group: 'big' });
  for (const group of ['small', null]) {
    await stage.overdue('test.sale', SMALL, { group, secondsAgo: 30 });
  }
  /** The groups, in the order in which their delays ran. */
  const ran: (string | null)[] = [];
  const begunBefore = async (group: string | null): Promise<number> => {
    await until(
      () => ran.filter((one) => one === group).length,
      (count) => count === SMALL,
    );
    return ran.lastIndexOf(group);
  };
  const handler = plainHandler(
    'test.sale',
    async ({ group }) => {
      await new Promise(setImmediate);
      ran.push(group);
    },
    { concurrency: 2 },
  );
  const node = await stage.start({ providers: [handler] });
  const atFirst = Promise.all([begunBefore('small'), begunBefore(null)]);
  await until(
    () => ran.length,
    (length) => length > 100,
  );
  const before = ran.length;
  await scheduleGroup(node, 'later', SMALL);
  expect((await begunBefore('later')) - before).toBeLessThan(BEGUN_MAX);
  expect(Math.max(...(await atFirst))).toBeLessThan(BEGUN_MAX);
});

it('groups are served one after another where there is one place', async () => {
  const gate = signal();
  const taken: (string | null)[] = [];
  const handler = plainHandler(
    'test.sale',
    async ({ group }) => {
      taken.push(group);
      await gate.promise;
    },
    { concurrency: 1 },
  );
  const node = await stage.start({ providers: [handler, plainHandler('test.mark', () => {})] });
  const first = node.next('started');
  await scheduleGroup(node, 'a');
  await first;
  for (const group of ['a', 'a', 'b', 'c', 'b']) await scheduleGroup(node, group);
  // Who was scheduled before it is in the ready queue when it runs.
  const marked = node.next('completed', ({ name }) => name === 'test.mark');
  await node.delays.schedule('test.mark', null, { after: 0 });
  await marked;
  gate.resolve();
  await until(
    () => taken.length,
    (length) => length === 6,
  );
  expect(taken).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
});

import { expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { NodeStore } from '../../support/engine-parts.js';

const ORPHANS = 100_000;
const OWN = 50;

const stage = stageOfEach();

it('overdue rows of a name nobody serves hide nothing, and stay out of memory', async () => {
  // In the order of their wake: orphans, own ones, orphans.
  await stage.overdue('test.orphan', ORPHANS, { secondsAgo: 3_600 });
  await stage.overdue('test.own', OWN, { secondsAgo: 1_800 });
  await stage.overdue('test.orphan', OWN, { secondsAgo: 900 });
  const sweep = stage.parts.intercept(NodeStore, 'sweep');
  const load = stage.parts.intercept(NodeStore, 'load');
  const ran = new Set<string>();
  const node = await stage.start({
    providers: [plainHandler('test.own', ({ id }) => void ran.add(id))],
  });
  await until(
    () => ran.size,
    (size) => size === OWN,
  );
  // What is new fires as if they were not there.
  const completed = node.next('completed', ({ key }) => key === 'new');
  await node.delays.schedule('test.own', null, { after: 50, key: 'new' });
  await completed;

  const pages = await Promise.all([...sweep.answers, ...load.answers]);
  const names = new Set(pages.flatMap((page) => page.wakes.map(({ name }) => name)));
  expect([...names]).toEqual(['test.own']);
  // A statement looks at up to 10,000 rows, once it has found that most are foreign; at 2,000 it would be fifty.
  expect(sweep.calls.length).toBeLessThan(30);
  const left = await stage.sql<{ name: string; count: number }>(
    'SELECT name, count(*)::int AS count FROM delay_queue.delay GROUP BY name',
  );
  expect(left).toEqual([{ name: 'test.orphan', count: ORPHANS + OWN }]);
});

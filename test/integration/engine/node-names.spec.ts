import { expect, it } from '@jest/globals';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { AdviceWatch } from './support/advice-watch.js';
import { stageOfEach } from './support/stage-of-each.js';

const { advice, provider: watch } = new AdviceWatch();
const stage = stageOfEach();

const start = (nodeName: string): Promise<DelayNode> =>
  stage.start({
    options: { nodeName, loadEvery: '100ms' },
    providers: [watch, plainHandler('test.a', () => {})],
  });

/** So many loads more have been answered. */
async function loads(count: number): Promise<void> {
  const load = stage.parts.intercept(NodeStore, 'load');
  await until(
    () => load.answers.length,
    (answered) => answered > count,
  );
}

it('two living processes of one name are told so, each once', async () => {
  await start('twin');
  await start('twin');
  await until(
    () => advice.length,
    (told) => told === 2,
  );
  expect(advice).toEqual([
    expect.stringMatching(/another process is also named twin.*omit the option nodeName/),
    expect.stringMatching(/another process is also named twin/),
  ]);
  await loads(5);
  expect(advice.splice(0)).toHaveLength(2);
});

it('a name may be used again, after a goodbye and after a kill without one', async () => {
  await (await start('again')).stop();
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at, instance)
     VALUES ('again', '{test.a}', true, now(), now(), 'killed')`,
  );
  const node = await start('again');
  await loads(5);
  const ends = node.next('completed');
  await node.delays.schedule('test.a', { n: 1 }, { after: 0 });
  await ends;
  expect(advice).toEqual([]);
});

it('a node that has the name of an earlier one started when its own process did', async () => {
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at, instance)
     VALUES ('again', '{test.a}', true, '2020-01-01', '2020-01-02', 'killed'),
            ('as of 0.1', '{test.a}', true, '2020-01-01', '2020-01-02', NULL)`,
  );
  const [{ began }] = (await stage.sql<{ began: Date }>('SELECT clock_timestamp() AS began')) as [
    { began: Date },
  ];
  const node = await start('again');
  await start('as of 0.1');
  const nodes = async () => (await node.admin.stats()).nodes;
  // One that is slow to beat is left out for a while.
  const startedAt = async (): Promise<Date[]> => {
    const both = await until(nodes, ({ length }) => length === 2);
    return both.map((each) => each.startedAt);
  };
  const first = await startedAt();
  expect(first.map((at) => at >= began)).toEqual([true, true]);
  await loads(5);
  expect(await startedAt()).toEqual(first);
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Stage } from '../integration/engine/support/stage.js';
import type { DelayNode } from '../support/delay-node.js';
import { NodeProcess } from '../support/node-process.js';
import type { OddNodeMessage } from './fixtures/odd-nodes.js';
import { ODD_BATCHES, type NamedOddBatch } from './odd-batches/index.js';

// oxlint-disable jest/expect-expect, jest/no-conditional-expect -- `runsOddly` expects what its case says

/** One node runs everything that is odd, one after the other; another one only schedules. */
let stage: Stage;
let producer: DelayNode;
let node: NodeProcess<OddNodeMessage>;

beforeAll(async () => {
  stage = await Stage.open();
  producer = await stage.start({ options: { worker: false } });
  node = NodeProcess.start('test/hostile/fixtures/odd-batch-node.ts', {
    env: { HOSTILE_URL: stage.url },
  });
  await node.waitFor(({ event }) => event === 'ready');
});

afterAll(async () => {
  if (node.running) await node.kill('SIGKILL');
  await stage.close({ force: true });
});

const ENDS = new Set(['completed', 'dead', 'lost', 'postponed']);
const OTHERS = ['one', 'two', 'three'];

const endOf = (name: string, key: string): Promise<OddNodeMessage> =>
  node.waitFor((told) => told.name === name && told.key === key && ENDS.has(told.event));

async function runsOddly({ name, ends, others, error }: NamedOddBatch): Promise<void> {
  const keys = ['one', 'odd', 'two', 'three'];
  await producer.delays.scheduleMany(keys.map((key) => ({ name, payload: null, key, after: 0 })));
  const end = await endOf(name, 'odd');
  expect(end.event).toBe(ends);
  if (ends === 'dead') expect(end.error).toMatch(error ?? /./);
  for (const key of OTHERS) {
    // Whatever befell the batch, it cost them no attempt.
    expect(await endOf(name, key)).toMatchObject({ event: others ?? 'completed', attempt: 1 });
  }

  // Its only slot is free, on whatever connection the odd one has left behind.
  await producer.delays.schedule(name, null, { after: 0, key: 'healthy' });
  expect(await endOf(name, 'healthy')).toMatchObject({ event: 'completed', attempt: 1 });
}

it.each(ODD_BATCHES)('a batch handler that $what', (odd) => runsOddly(odd));

it('none of them has ended the process, which drains and ends as ever', async () => {
  expect(node.running).toBe(true);
  expect(await node.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(node.output).not.toMatch(/unhandled|uncaught/i);
  expect(await stage.sql('SELECT name FROM delay_queue.delay WHERE leased_by IS NOT NULL')).toEqual(
    [],
  );
});

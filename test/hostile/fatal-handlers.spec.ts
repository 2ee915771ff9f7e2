import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Stage } from '../integration/engine/support/stage.js';
import { NodeProcess } from '../support/node-process.js';
import type { FatalNodeMessage } from './fixtures/fatal-node.js';

/** Node ends a process for what nobody catches, and so it should. The delay must not do it for ever. */
let stage: Stage;
let node: NodeProcess<FatalNodeMessage> | undefined;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  if (node?.running) await node.kill('SIGKILL');
  await stage.close({ force: true });
});

async function startNode(): Promise<NodeProcess<FatalNodeMessage>> {
  const env = { HOSTILE_URL: stage.url };
  node = NodeProcess.start<FatalNodeMessage>('test/hostile/fixtures/fatal-node.ts', { env });
  await node.waitFor(({ event }) => event === 'ready');
  return node;
}

it.each(['a rejection that nobody handles', 'an error in a listener of its signal', 'an abort'])(
  '%s ends the process twice, and then it is a dead letter',
  async (key) => {
    const producer = await stage.start({ options: { worker: false } });
    await producer.delays.schedule('test.fatal', null, { after: 0, key });
    for (const attempt of [1, 2]) {
      const dying = await startNode();
      const exit = await dying.exited;
      expect(exit.code).not.toBe(0);
      expect(await producer.delays.find('test.fatal', key)).toMatchObject({ attempts: attempt });
    }
    const survivor = await startNode();
    await survivor.waitFor((told) => told.event === 'dead' && told.key === key);
    expect(await producer.delays.find('test.fatal', key)).toMatchObject({
      state: 'dead',
      attempts: 2,
    });
    await producer.delays.schedule('test.fatal', null, { after: 0, key: 'healthy' });
    await survivor.waitFor((told) => told.event === 'completed' && told.key === 'healthy');
    expect(await survivor.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  },
);

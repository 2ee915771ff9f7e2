import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AdviceWatch } from '../integration/engine/support/advice-watch.js';
import { Stage } from '../integration/engine/support/stage.js';
import { type DelayNode, plainHandler, signal, startNode } from '../support/delay-node.js';
import { Pgpool } from './support/pgpool.js';
import { sayNotRun } from './support/programs.js';

const isInstalled = Pgpool.program() !== undefined;
if (!isInstalled) sayNotRun('test/servers/pgpool.spec.ts', 'There is no pgpool here.');

let stage: Stage;
let pgpool: Pgpool | undefined;
let node: DelayNode | undefined;

beforeEach(async () => {
  if (isInstalled) stage = await Stage.open();
});

afterEach(async () => {
  await node?.stop();
  await pgpool?.stop();
  await stage?.close();
});

(isInstalled ? describe : describe.skip)('behind pgpool', () => {
  it.each([
    ['on', 1],
    ['off', 0],
  ])(
    'with failover_on_backend_error %s, a node runs delays, and its start has %i word about it',
    async (value, words) => {
      pgpool = await Pgpool.start(stage.url, { failover_on_backend_error: value });
      const { advice, provider } = new AdviceWatch();
      const ran = signal();
      node = await startNode({
        url: pgpool.url,
        providers: [provider, plainHandler('test.a', () => ran.resolve())],
      });
      await node.delays.schedule('test.a', { n: 1 }, { after: 0 });
      await ran.promise;
      expect(advice.filter((each) => each.includes('failover_on_backend_error'))).toHaveLength(
        words,
      );
    },
  );
});

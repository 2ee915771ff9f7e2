import { describe, expect, it } from '@jest/globals';
import { SPOILED } from '../../chaos/load/payloads.js';
import { expectBroken } from './support/expect-broken.js';
import { Scene } from './support/scene.js';
import { claimTogether, commitTogether } from './support/together.js';

const fenced = { name: 'chaos.batch-fenced' };

it('a batch that is split, or given back at a shutdown, is as it should be', async () => {
  const scene = await Scene.open();
  try {
    const pair = async () => [await scene.schedule(fenced), await scene.schedule(fenced)];
    for (const claimed of await claimTogether(scene, await pair(), 'n1')) {
      await scene.runFenced(await scene.split(claimed, `Error: ${SPOILED}`), 'n2');
    }
    const given = [];
    for (const claimed of await claimTogether(scene, await pair(), 'n1')) {
      given.push(await scene.split(claimed, null));
    }
    await commitTogether(scene, await claimTogether(scene, given, 'n2'));
    const { verdicts } = await scene.judge();
    expect(verdicts.flatMap(({ examples }) => examples)).toEqual([]);
  } finally {
    await scene.close();
  }
});

describe('2: effects of a batch', () => {
  expectBroken({
    'one of a batch that was committed is not removed': {
      breaks: [2],
      says: /"left": attempt 1 of n1 committed an effect at .*, and that transaction did not end/,
      happens: async (scene) => {
        const made = [
          await scene.schedule(fenced),
          await scene.schedule({ ...fenced, token: 'left' }),
        ];
        const [first, left] = await claimTogether(scene, made, 'n1');
        await commitTogether(scene, [first!], [left!]);
        await scene.settle(left!, null);
      },
    },
  });
});

describe('7: what a batch costs', () => {
  expectBroken({
    'a split that keeps the attempt': {
      breaks: [7],
      says: /"paid": its batch was spoiled: a settle, from 1 attempts to 1/,
      happens: async (scene) => {
        const made = await scene.schedule({ ...fenced, token: 'paid' });
        const claimed = await scene.claim(made, 'n1');
        await scene.runFenced(await scene.split(claimed, `Error: ${SPOILED}`, 0));
      },
    },
    'what failed travels in a batch again': {
      breaks: [7],
      says: /"failed": claimed together with 1 others, after "Error: once"/,
      happens: async (scene) => {
        const made = await scene.schedule({ ...fenced, token: 'failed' });
        const failed = await scene.settle(await scene.claim(made, 'n1'), 20, 'Error: once');
        const together = [failed, await scene.schedule(fenced)];
        await commitTogether(scene, await claimTogether(scene, together, 'n1'));
      },
    },
  });
});

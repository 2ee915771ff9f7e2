import { expect, it } from '@jest/globals';
import { Scene } from './scene.js';

/** A history with one thing wrong in it. */
export interface Broken {
  /** Every invariant that it breaks, the one it is about first, and no other. */
  breaks: number[];
  /** What a person is told. */
  says: RegExp;
  happens: (scene: Scene) => Promise<unknown>;
}

/** Each is found by what it breaks, and nothing else is blamed. */
export function expectBroken(histories: Record<string, Broken>): void {
  it.each(Object.entries(histories))('%s', async (_, { breaks, says, happens }) => {
    const scene = await Scene.open();
    try {
      // Sound company: the query has to tell them apart.
      await scene.run(await scene.schedule({ token: 'sound' }));
      await scene.runFenced(await scene.schedule({ name: 'chaos.fenced', token: 'sound, fenced' }));
      await happens(scene);
      const { verdicts } = await scene.judge();
      const found = verdicts.filter(({ violations }) => violations > 0);
      expect(found.map(({ invariant }) => invariant)).toEqual(breaks.toSorted((a, b) => a - b));
      const about = found.find(({ invariant }) => invariant === breaks[0]);
      expect(about?.examples.join('\n')).toMatch(says);
      expect(about?.examples.join('\n')).not.toMatch(/"sound/);
    } finally {
      await scene.close();
    }
  });
}

import { beforeEach, expect, it } from '@jest/globals';
import { LimitBlocks } from '../../../src/delay-queue/execution/places/limit-blocks.js';
import type { LimitLeft } from '../../../src/delay-queue/store/limits/limit.store.js';

const NAME = 'test.limited';
const FULL: LimitLeft = { name: NAME, group: 'g', places: 0, waitMs: 0 };

let blocks: LimitBlocks;

beforeEach(() => {
  blocks = new LimitBlocks();
});

/** What a claim learns during which attempts of these groups were over. */
function learn(left: LimitLeft, freed: (string | null)[] = []): void {
  blocks.ask();
  for (const group of freed) blocks.freed(NAME, group);
  blocks.learn([left]);
  blocks.answered();
}

const heldBy = (group = 'g') => blocks.heldBy(NAME, group);

it('while a claim is on its way, nobody else of a name with limits is asked for', () => {
  blocks.ask();
  expect(heldBy()).toBe('name');
  blocks.answered();
  expect(heldBy()).toBeUndefined();
});

it.each<[string, (string | null)[], 'group' | undefined]>([
  ['nobody', [], 'group'],
  ['one of another group', ['other'], 'group'],
  ['one without a group', [null], 'group'],
  ['one of the group', ['g'], undefined],
])('a group that is full is so after a claim during which %s was over', (_, freed, held) => {
  learn(FULL, freed);
  expect(heldBy()).toBe(held);
  expect(heldBy('other')).toBeUndefined();
});

it('what was over before a claim was asked for is known to it', () => {
  blocks.freed(NAME, 'g');
  learn(FULL);
  expect(heldBy()).toBe('group');
  blocks.freed(NAME, 'g');
  expect(heldBy()).toBeUndefined();
});

it('a rate is waited for, whoever ends, until time has passed as no clock tells', () => {
  learn({ ...FULL, waitMs: 60_000 });
  blocks.freed(NAME, 'g');
  expect(heldBy()).toBe('group');
  let vacant = 0;
  blocks.vacant.on(() => (vacant += 1));
  blocks.clear();
  expect([heldBy(), vacant]).toEqual([undefined, 1]);
});

import { expect, it } from '@jest/globals';
import { FullNames } from '../../../src/delay-queue/worker/scanner.js';

it('a name or a group that had enough at any time of a walk gets nothing more of it', () => {
  let room: { butNotOf: string[] } | undefined;
  const enough = new FullNames({ roomFor: () => room });
  const answers = [{ butNotOf: ['big'] }, { butNotOf: ['other'] }, { butNotOf: [] }];
  const seen = answers.map((now) => {
    room = now;
    return enough.roomFor('a');
  });
  const both = { butNotOf: ['big', 'other'] };
  expect(seen).toEqual([{ butNotOf: ['big'] }, both, both]);
  expect(enough.roomFor('b')).toEqual({ butNotOf: [] });
  room = undefined;
  expect(enough.roomFor('b')).toBeUndefined();
  room = { butNotOf: [] };
  expect(['a', 'b'].map((name) => enough.roomFor(name))).toEqual([both, undefined]);
});

import { describe, expect, it } from '@jest/globals';
import { Deck } from '../../chaos/lanes.js';
import { randomOf } from '../../../src/random.js';

const CARDS = ['kill', 'pause', 'crash', 'cut', 'clock', 'locks', 'pool'];

const drawn = (seed: string, count: number): string[] => {
  const deck = new Deck(CARDS, randomOf(seed));
  return Array.from({ length: count }, () => deck.draw());
};

describe('the deck of faults', () => {
  it('gives out each card before one comes again', () => {
    const rounds = drawn('a', 5 * CARDS.length);
    for (let round = 0; round < 5; round++) {
      const cards = rounds.slice(round * CARDS.length, (round + 1) * CARDS.length);
      expect(cards.toSorted()).toEqual(CARDS.toSorted());
    }
  });

  it('is the same again for the same seed, and another one for another', () => {
    expect(drawn('a', 50)).toEqual(drawn('a', 50));
    expect(drawn('a', 50)).not.toEqual(drawn('b', 50));
  });
});

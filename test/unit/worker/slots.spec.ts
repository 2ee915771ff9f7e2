import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { handlerConnections } from '../../../src/delay-queue/core/worker/admission.js';
import {
  type Handler,
  HandlerRegistry,
} from '../../../src/delay-queue/core/handlers/handler.registry.js';

let registry: HandlerRegistry;
let events: DelayEvents;
let advice: string[];
let names: NameStates;

const add = (name: string, concurrency: number, odd: Partial<Handler> = {}): void =>
  registry.add({
    name,
    concurrency,
    transactional: false,
    limits: null,
    location: name,
    ...odd,
  } as Handler);

/** How often a name that rested was reported to have a slot again. */
let vacant: number;

beforeEach(() => {
  [registry, events, advice] = [new HandlerRegistry(), new DelayEvents(), []];
  events.on('advice', ({ message }) => advice.push(message));
  vacant = 0;
  names = new NameStates(registry, 3, events, () => (vacant += 1));
});

/** How many calls of these names may begin now. */
const begin = (...of: string[]): number => {
  let begun = 0;
  while (of.some((name) => names.acquire(names.of(name)))) begun += 1;
  return begun;
};

const release = (name: string): void => names.release(names.of(name));

describe('calls', () => {
  it('run as many at a time as their name may, and one more for each that ends', () => {
    add('a', 2);
    add('b', 1);
    expect([begin('a'), begin('b'), names.find('unknown')]).toEqual([2, 1, undefined]);
    release('a');
    expect([begin('b'), begin('a')]).toEqual([0, 1]);
  });

  it('in transactions share the connections that they have together', () => {
    for (const name of ['a', 'b']) add(name, 2, { transactional: true });
    add('plain', 2);
    expect([begin('a', 'b'), begin('plain')]).toEqual([3, 2]);
    release('plain');
    expect(begin('a', 'b')).toBe(0);
    release('a');
    expect(begin('a', 'b')).toBe(1);
  });

  it('of all names together are as many as their concurrencies, one at least, and as a wheel can hold', () => {
    expect(names.inAll).toBe(1);
    add('a', 2);
    add('b', 3);
    expect(names.inAll).toBe(5);
    add('c', 2 ** 30);
    expect(names.inAll).toBe(2 ** 24);
  });
});

const overrun = (times: number): void => {
  for (let each = 0; each < times; each += 1) names.overrun('a');
};
const end = (times: number): void => {
  for (let each = 0; each < times; each += 1) names.overrunEnded('a');
};

describe('a name of which a thousand handlers outlived their timeout', () => {
  beforeEach(() => {
    add('a', 1);
    add('b', 1);
  });

  it('rests until one of them ends, and no other name does', () => {
    overrun(998);
    expect([names.overrun('a'), begin('a'), begin('b')]).toEqual([999, 1, 1]);
    release('a');
    overrun(1);
    expect(begin('a')).toBe(0);
    end(1);
    expect([vacant, begin('a'), names.of('a').overrunning]).toEqual([1, 1, 999]);
    end(999);
    expect([vacant, names.of('a').overrunning]).toEqual([1, 0]);
  });

  it('is worth another word only after half of them have ended', () => {
    overrun(1_001);
    expect(advice).toEqual([
      expect.stringMatching(/^a cools down on this node: 1000 of its handlers/),
    ]);
    end(500);
    overrun(499);
    expect(advice).toHaveLength(1);
    end(500);
    overrun(500);
    expect(advice).toHaveLength(2);
  });
});

describe('of the sessions for attempts', () => {
  const DEFAULT = 10;
  const shareOf = (max: number) => handlerConnections(max, registry, DEFAULT, events);

  it('all are for transactional handlers, and one less with @OnDeadDelay', () => {
    add('a', DEFAULT, { transactional: true });
    expect(shareOf(3)).toBe(3);
    add('b', 1, { onDead: {} as never });
    expect(shareOf(3)).toBe(2);
    expect(advice).toEqual([]);
  });

  it('there have to be enough for what needs them', () => {
    add('a', 1, { transactional: true });
    expect(() => shareOf(1)).not.toThrow();
    add('b', 1, { onDead: {} as never });
    expect(() => shareOf(1)).toThrow(/need at least 2 transactionalConnections, not 1$/);
    expect(() => shareOf(2)).not.toThrow();
  });

  it('a handler that asks for more than there can be hears of it, unless it did not ask', () => {
    add('default', DEFAULT, { transactional: true });
    add('plain', 50);
    add('fits', 4, { transactional: true });
    add('asks', 5, { transactional: true });
    shareOf(4);
    expect(advice).toEqual([expect.stringMatching(/^asks: concurrency 5 .* have 4 connections/)]);
  });
});

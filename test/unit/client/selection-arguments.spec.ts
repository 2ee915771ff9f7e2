import { describe, expect, it } from '@jest/globals';
import {
  parseOptions,
  writeNext,
  parsePage,
  parsePause,
  type StoryPosition,
  parseStoryPage,
  parseTopGroups,
} from '../../../src/delay-queue/core/client/arguments.js';
import {
  endedFilter,
  liveFilter,
  storyFilter,
} from '../../../src/delay-queue/core/store/filter.table.js';

const ANY = { mayBeEmpty: true };
const INSTANT = new Date(0);
const ISO = INSTANT.toISOString();
const OF_ANY = { key: 'k', keyPrefix: 'k', groupPrefix: 'g', error: 'no', errorLine: '' };
const LIVE: StoryPosition = { among: 'live', behindId: 0 };
const ENDED: StoryPosition = { among: 'ended', behind: undefined };

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

describe('a filter', () => {
  it('is taken as it is given, for what lives and for what has ended', () => {
    const texts = { ...OF_ANY, headers: { a: 'b' }, dueFrom: INSTANT, dueBefore: INSTANT };
    const parsed = { ...OF_ANY, headers: '{"a":"b"}', dueFrom: ISO, dueBefore: ISO };
    const live = {
      ...texts,
      name: 'a.b',
      group: 'g',
      state: ['dead', 'running'],
      repeating: false,
    };
    expect({ ...liveFilter(live, ANY) }).toEqual({
      ...parsed,
      name: ['a.b'],
      group: ['g'],
      state: ['dead', 'running'],
      repeating: false,
    });
    const ended = { ...texts, name: ['a', 'b'], state: 'superseded', endedFrom: INSTANT };
    expect({ ...endedFilter({ ...ended, endedBefore: INSTANT }) }).toEqual({
      ...parsed,
      name: ['a', 'b'],
      state: ['superseded'],
      endedFrom: ISO,
      endedBefore: ISO,
    });
    expect({ ...storyFilter('k') }).toEqual({ key: 'k' });
    expect({ ...storyFilter({ group: ['g', 'h'] }) }).toEqual({ group: ['g', 'h'] });
  });

  it('inherits nothing, and is of all only where that may be', () => {
    expect(Object.getPrototypeOf(liveFilter({}, ANY))).toBeNull();
    expect(Object.keys(endedFilter({}))).toEqual([]);
    for (const parse of [() => liveFilter({}, { mayBeEmpty: false }), () => storyFilter({})]) {
      expect(parse).toThrow(
        'filter: needs at least one condition: an empty filter matches every delay',
      );
    }
  });

  it.each<[object, string]>([
    [{ name: [] }, 'filter.name: must be a single value or a plain array of 1 to 100'],
    [{ name: names(101) }, 'filter.name: must be a single value or a plain array of 1 to 100'],
    [
      { state: ['dead', 'dead', 'dead', 'dead', 'dead'] },
      'filter.state: must be a single value or',
    ],
    [{ state: 'ended' }, 'filter.state: must be one of scheduled, running, retrying, dead'],
    [{ headers: {} }, 'filter.headers: needs at least one header'],
    [{ repeating: 1 }, 'filter.repeating: must be true or false, not 1'],
    [{ keyPrefix: 'x'.repeat(256) }, 'filter.keyPrefix'],
    [{ groupPrefix: 'x'.repeat(256) }, 'filter.groupPrefix'],
    [{ error: 'x'.repeat(1_001) }, 'filter.error'],
  ])('%# is refused by its field', (filter, message) => {
    expect(() => liveFilter(filter, ANY)).toThrow(message);
  });

  it('takes as much as that', () => {
    const most = { name: names(100), keyPrefix: 'x'.repeat(255), error: 'x'.repeat(1_000) };
    expect(liveFilter(most, ANY)).toMatchObject({ name: most.name, error: most.error });
  });
});

describe('a page', () => {
  it('has a hundred, from the beginning, unless something else is said', () => {
    expect(parsePage({})).toEqual({ limit: 100, payload: true, behindId: 0 });
    expect(parsePage({ limit: 1_000, after: '7', payload: false })).toEqual({
      limit: 1_000,
      payload: false,
      behindId: 7,
    });
    expect(parseTopGroups({})).toEqual({ by: 'overdue', limit: 100 });
    expect(parseTopGroups({ orderBy: 'oldestOverdueMs', limit: 1 })).toEqual({
      by: 'oldestOverdueMs',
      limit: 1,
    });
    expect(parseStoryPage({}, LIVE)).toEqual({ limit: 100, payload: true, position: LIVE });
    for (const parse of [parsePage, parseTopGroups, (of: unknown) => parseStoryPage(of, LIVE)]) {
      for (const limit of [0, 1_001]) expect(() => parse({ limit })).toThrow('limit: must be');
    }
    expect(() => parsePage({ after: 'x' })).toThrow(/^after: /);
    expect(() => parseTopGroups({ orderBy: 'dying' })).toThrow('orderBy: must be one of total,');
  });

  it.each<StoryPosition>([
    { among: 'live', behindId: 42 },
    { among: 'ended', behind: { endedUs: 1_760_000_000_000_123, id: 7, epoch: 3 } },
    { among: 'ended', behind: { endedUs: -5, id: 7, epoch: 0 } },
  ])('goes on where the one before has ended: %j', (place) => {
    expect(parseStoryPage({ after: writeNext(place) }, LIVE).position).toEqual(place);
  });

  it('of what has ended begins among nothing that lives', () => {
    const after = writeNext({ among: 'live', behindId: 7 });
    expect(() => parseStoryPage({ after }, ENDED)).toThrow('after: must be the `next` of a page');
    for (const odd of ['live', 'live 1 ', 'ended 1 2', 7, 'ended 1 2 x']) {
      expect(() => parseStoryPage({ after: odd }, LIVE)).toThrow(
        'after: must be the `next` of a page',
      );
    }
  });
});

describe('a pause', () => {
  it('is of a name or a group, and has an end when one is said', () => {
    expect(parsePause('a', {})).toEqual({
      what: { name: 'a', group: null },
      reason: null,
      by: null,
      until: null,
    });
    expect(parsePause('a', { group: 'g', reason: 'down', by: 'ann', for: '2h' })).toEqual({
      what: { name: 'a', group: 'g' },
      reason: 'down',
      by: 'ann',
      until: { kind: 'after', ms: 7_200_000 },
    });
    expect(parsePause('a', { until: INSTANT }).until).toEqual({ kind: 'at', iso: ISO });
    expect(() => parsePause('a', { for: 1, until: INSTANT })).toThrow('not both');
    expect(() => parsePause('a', { reason: 'x'.repeat(1_001) })).toThrow('reason');
  });
});

it('what changes those that match takes a signal and a listener, of whatever make', () => {
  const given = { signal: { throwIfAborted: () => {} }, onProgress: () => {} };
  expect(parseOptions('changeMatching', given)).toEqual(given);
  expect(() => parseOptions('changeMatching', { signal: null })).toThrow(
    'signal: must be an AbortSignal',
  );
  expect(() => parseOptions('changeMatching', { signal: {} })).toThrow(
    'signal: must be an AbortSignal',
  );
  expect(() => parseOptions('changeMatching', { onProgress: 7 })).toThrow(
    'onProgress: must be a function, not 7',
  );
});

import { describe, expect, it } from '@jest/globals';
import type { SearchPage } from '../../../src/delay-queue/dashboard/contract.js';
import type { SearchFilter } from '../../../src/delay-queue/dashboard/search.table.js';
import {
  toEraseFilter,
  toOrderFilter,
} from '../../../src/delay-queue/dashboard/page/act/order-filter.js';

describe('the order for all that match', () => {
  it.each<[SearchFilter, SearchPage['meaning'], SearchFilter]>([
    [{ name: 'a', state: ['dead'] }, null, { name: 'a', state: ['dead'] }],
    [{ q: 'order-1' }, 'key', { key: 'order-1' }],
    [{ q: '17', state: ['running'] }, 'id', { id: '17', state: ['running'] }],
    [{ q: 'eu', name: 'a' }, 'group', { group: 'eu', name: 'a' }],
    [{ q: 'a', errorLine: '' }, 'name', { name: 'a', errorLine: '' }],
  ])('of %j, taken for a %s, is %j', (filter, meaning, order) => {
    expect(toOrderFilter(filter, meaning)).toEqual(order);
  });

  it.each<[string, SearchFilter, SearchPage['meaning']]>([
    ['without a filter', {}, null],
    ['of a text that means nothing', { q: 'x' }, 'nothing'],
    ['of a text that the filter has already', { q: 'a', name: 'b' }, 'name'],
    ['of what has ended', { state: ['dead', 'completed'] }, null],
    ['of what ended since', { name: 'a', endedFrom: '2030-01-01T00:00:00.000Z' }, null],
    ['of what ended before', { name: 'a', endedBefore: '2030-01-01T00:00:00.000Z' }, null],
  ])('%s is not given', (_what, filter, meaning) => {
    expect(toOrderFilter(filter, meaning)).toBeNull();
  });
});

describe('an erase', () => {
  it.each<[SearchFilter, SearchPage['meaning'], SearchFilter | null]>([
    [{ group: 'customer-7' }, null, { group: 'customer-7' }],
    [{ name: 'a', header: 'customer:7' }, null, { name: 'a', header: 'customer:7' }],
    [{ q: 'order-1' }, 'key', { key: 'order-1' }],
    [{ q: 'a' }, 'name', null],
    [{ name: 'a' }, null, null],
    [{ key: 'a', state: ['dead'] }, null, null],
    [{ group: 'a', error: 'b' }, null, null],
    [{}, null, null],
  ])('of %j, taken for a %s, is of %j', (filter, meaning, erased) => {
    expect(toEraseFilter(filter, meaning)).toEqual(erased);
  });
});

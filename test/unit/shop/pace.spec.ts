import { expect, it } from '@jest/globals';
import { pauseAfter } from '../../../src/shop/pace.js';

const FIFTH = { share: 1 / 5, leastPauseMs: 250, mostPauseMs: 10_000 };

it.each([
  ['what is quick has its own pace', 10, 250],
  ['what takes long gets its share of the time', 100, 400],
  ['what took for ever was waiting', 60_000, 10_000],
])('%s', (_, tookMs, pauseMs) => {
  expect(pauseAfter(tookMs, FIFTH)).toBeCloseTo(pauseMs);
});

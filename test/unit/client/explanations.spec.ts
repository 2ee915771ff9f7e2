import { describe, expect, it } from '@jest/globals';
import { inWords } from '../../../src/delay-queue/core/api/error-text.js';
import { explainRow } from '../../../src/delay-queue/core/client/explanations.js';
import type { DelayWait } from '../../../src/delay-queue/core/api/delay.js';
import type {
  EndedLine,
  ExplainedRow,
} from '../../../src/delay-queue/core/store/sql/explain.sql.js';

const NOW = Date.UTC(2026, 10, 26, 8, 13, 4);
const MINUTE = 60_000;

/** `order.close` 42, due for three seconds, with a node that serves it. */
const ROW: ExplainedRow = {
  id: '7',
  name: 'order.close',
  key: '42',
  group: null,
  dueMs: NOW - 3_000,
  wakeMs: NOW - 3_000,
  attempts: 0,
  maxAttempts: null,
  error: null,
  node: null,
  leaseMs: null,
  isOrphaned: false,
  isLocked: false,
  holder: null,
  lastAttempt: null,
  waitsFor: { what: 'turn' },
  nowMs: NOW,
  pauses: null,
  limits: null,
  nodes: [node('shop-1')],
  isByGroup: false,
  lastRun: null,
  place: { inName: 12, inGroup: 0, atLeast: false, running: { 'shop-1': 5 } },
  ended: null,
};

function node(
  name: string,
  more: { lives?: boolean; serves?: boolean; isIdle?: boolean; silentMs?: number } = {},
) {
  const { silentMs = 0 } = more;
  return {
    name,
    lives: true,
    serves: true,
    isIdle: false,
    silentMs,
    heardMs: NOW - silentMs,
    ...more,
  };
}

const TARGET = { name: 'order.close', key: '42' };

const told = (more: Partial<ExplainedRow>, target: Parameters<typeof explainRow>[1] = TARGET) => {
  const { text, also } = explainRow({ ...ROW, ...more }, target, {
    loadEveryMs: 10_000,
    waits: [],
    held: undefined,
  });
  return [text, ...also.map((cause) => cause.text)];
};

const waits = (what: DelayWait['what']): Partial<ExplainedRow> => ({ waitsFor: { what } });
const pause = (more: object) => ({
  group: null,
  why: null,
  by: null,
  pausedMs: NOW - 303 * MINUTE,
  untilMs: null,
  ...more,
});
const NOBODY = { id: null } as unknown as Partial<ExplainedRow>;
const END: EndedLine = {
  id: '7',
  name: 'order.close',
  key: '42',
  group: null,
  state: 'completed',
  dueAt: new Date(NOW - 4 * MINUTE),
  endedAt: new Date(NOW - 3 * MINUTE),
  latenessMs: 2,
  error: null,
  node: 'shop-1',
  attempts: 1,
  by: null,
};

/** As an operator reads them at night. */
it.each<[text: string, more: Partial<ExplainedRow>, ...also: string[]]>([
  [
    'order.close 42 is due in 12 min 4 s',
    { ...waits('due'), dueMs: NOW + 724_000, wakeMs: NOW + 724_000 },
  ],
  ['order.close 42 was given back and will run in 500 ms', { ...waits('due'), wakeMs: NOW + 500 }],
  [
    'order.close 42 will be retried in 3 s, after attempt 2 of 5: Error: ECONNREFUSED',
    {
      ...waits('retry'),
      wakeMs: NOW + 3_000,
      attempts: 2,
      maxAttempts: 5,
      error: 'Error: ECONNREFUSED',
    },
  ],
  [
    'order.close 42 has been running on shop-1 for 5 s (attempt 1); its lease ends in 55 s',
    {
      ...waits('attempt'),
      node: 'shop-1',
      leaseMs: NOW + 55_000,
      attempts: 1,
      lastAttempt: { startedMs: NOW - 5_000 },
    },
  ],
  [
    'order.close 42 is running on shop-1 (attempt 1 of 3); its lease ends in 55 s',
    {
      ...waits('attempt'),
      node: 'shop-1',
      leaseMs: NOW + 55_000,
      attempts: 1,
      maxAttempts: 3,
      nodes: [node('shop-1', { silentMs: 18_000 })],
    },
    'shop-1 has sent no heartbeat for 18 s and seems to hang',
  ],
  [
    'order.close 42 was running on shop-1, which has been silent for 1 min 3 s; its lease ends in 20 s',
    {
      ...waits('attempt'),
      node: 'shop-1',
      leaseMs: NOW + 20_000,
      attempts: 1,
      nodes: [node('shop-2'), node('shop-1', { lives: false, silentMs: 63_000 })],
    },
  ],
  [
    'order.close 42 was running on shop-1, which has left; its lease ends in 20 s',
    { ...waits('attempt'), node: 'shop-1', leaseMs: NOW + 20_000, nodes: null },
    'no live node has a handler of order.close, and none is known to have had one',
  ],
  [
    'order.close 42 was running on shop-1, whose process is gone; another process takes it over within seconds',
    { ...waits('attempt'), node: 'shop-1', leaseMs: NOW + 20_000, isOrphaned: true },
  ],
  [
    'order.close has been paused since 2026-11-26 03:10:04 UTC by ann (the provider is down), until it is resumed',
    {
      ...waits('pause'),
      pauses: [pause({ why: 'the provider is down', by: 'ann' })],
      nodes: null,
    },
    'no live node has a handler of order.close, and none is known to have had one',
  ],
  [
    'the group shop-7 of order.close has been paused since 2026-11-26 03:10:04 UTC, for 2 h more',
    {
      ...waits('pause'),
      pauses: [pause({ group: 'shop-7', untilMs: NOW + 120 * MINUTE })],
    },
  ],
  [
    'no live node has a handler of order.close; shop-1 was the last, 5 h 3 min ago',
    {
      ...waits('node'),
      nodes: null,
      lastRun: { node: 'shop-1', atMs: NOW - 303 * MINUTE },
    },
  ],
  [
    'the rate limit of order.close is used up and has room again in 3 s',
    {
      ...waits('limit'),
      limits: [
        { group: null, sinceMs: NOW, untilMs: NOW + 3_000, of: null, running: 0 },
        { group: 'shop-7', sinceMs: NOW, untilMs: null, of: 4, running: 4 },
      ],
    },
    'the group shop-7 of order.close may run 4 attempts at once, and 4 are running',
  ],
  [
    'shop-1 has sent no heartbeat for 18 s and seems to hang',
    { nodes: [node('shop-1', { silentMs: 18_000 })] },
  ],
  [
    'none of shop-1, shop-2 has sent a heartbeat for 18 s: they seem to hang',
    {
      nodes: [node('shop-1', { silentMs: 18_000 }), node('shop-2', { silentMs: 29_000 })],
    },
  ],
  [
    'shop-2, which owns order.close 42, has sent no heartbeat for 18 s and seems to hang',
    {
      nodes: [node('shop-3', { isIdle: true }), node('shop-2', { silentMs: 18_000 })],
    },
  ],
  [
    'order.close 42 has been due for 3 s and waits for a slot: 12 delays of its name come before it; 1 node serves the name and runs 5',
    { nodes: [node('shop-1', { silentMs: 15_000 })] },
  ],
  [
    'order.close 42 has been due for 3 s and waits for a slot: at least 900 delays of its name come before it, 8 of its group; 2 nodes serve the name and run at least 6',
    {
      group: 'shop-7',
      nodes: [node('a'), node('b'), node('c', { lives: false }), node('d', { serves: false })],
      place: { inName: 900, inGroup: 8, atLeast: true, running: { a: 2, b: 4, d: 9 } },
    },
  ],
  [
    'order.close 42 is a dead letter, after 5 attempts: Error: no stock',
    { waitsFor: null, attempts: 5, error: 'Error: no stock' },
  ],
  [
    'order.close 42 has been a dead letter for 2 d 4 h, after 1 attempt: Error: no stock',
    {
      waitsFor: null,
      attempts: 1,
      error: 'Error: no stock',
      lastAttempt: { endedMs: NOW - 52 * 60 * MINUTE },
    },
  ],
  [
    'order.close 42 was set aside: attempts must not be negative',
    {
      waitsFor: null,
      error: 'the row cannot be read, and was set aside: attempts must not be negative',
    },
  ],
  [
    'order.close 42 completed on shop-1 3 min ago; its history has the details',
    { ...NOBODY, ended: END },
  ],
  [
    'order.close 42 was discarded by ann 3 min ago: Error: no stock; its history has the details',
    {
      ...NOBODY,
      ended: {
        ...END,
        state: 'discarded',
        node: null,
        by: 'ann',
        error: 'Error: no stock',
      },
    },
  ],
  ['there is no live delay order.close 42, and the history that is kept has none either', NOBODY],
  [
    'order.close (id 7) is due in 1 s',
    { ...waits('due'), key: null, dueMs: NOW + 1_000, wakeMs: NOW + 1_000 },
  ],
])('%s', (text, more, ...also) => {
  expect(told(more)).toEqual([text, ...also]);
});

describe('a sentence', () => {
  it('names an id where no name is known', () => {
    const text =
      'there is no live delay with the id 9, and the history that is kept has none either';
    expect(told(NOBODY, { id: 9 })).toEqual([text]);
  });

  it('stays one line, and short, whatever a key, a reason or an error holds', () => {
    const evil = `\u001b[2J\n${'x'.repeat(5_000)}`;
    const [text] = told({ waitsFor: null, key: '4\n2', attempts: 1, error: evil });
    expect(text).toMatch(
      /^order\.close 4\\n2 is a dead letter, after 1 attempt: \\u001b\[2J\\nx+…$/,
    );
    expect(text!.length).toBeLessThan(300);
  });

  it('shows an odd entry of a log as unknown', () => {
    for (const lastAttempt of [5, null, 'x', {}, { startedMs: 'x' }, [1]]) {
      const row = { ...waits('attempt'), node: 'shop-1', leaseMs: NOW, attempts: 1, lastAttempt };
      expect(told(row)).toEqual([
        'order.close 42 is running on shop-1 (attempt 1); its lease ends in 0 ms',
      ]);
    }
  });
});

it.each([
  [-5, '0 ms'],
  [0.4, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [59_499, '59 s'],
  [59_600, '1 min'],
  [724_000, '12 min 4 s'],
  [3_600_000, '1 h'],
  [3_661_000, '1 h 1 min'],
  [86_399_000, '23 h 59 min'],
  [90_000_000, '1 d 1 h'],
  [8.64e15, '100000000 d'],
])('%p ms are %s', (ms, words) => {
  expect(inWords(ms)).toBe(words);
});

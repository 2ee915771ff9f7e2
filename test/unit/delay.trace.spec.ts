import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { DelayEventMap } from '../../src/delay-queue/core/api/events.js';
import { DelayTrace } from '../../src/delay-queue/core/module/delay.trace.js';
import { RecordingLogger } from '../support/recording-logger.js';

const VARIABLE = 'DELAY_QUEUE_DEBUG';

let logger: RecordingLogger;
let events: DelayEvents;

beforeEach(() => {
  logger = new RecordingLogger();
  Logger.overrideLogger(logger);
  events = new DelayEvents();
});

afterEach(() => void jest.restoreAllMocks());

function follow(value: string): void {
  process.env[VARIABLE] = value;
  try {
    void new DelayTrace(events, { queue: 'default' });
  } finally {
    delete process.env[VARIABLE];
  }
}

const OF = {
  id: '7',
  name: 'a',
  key: 'k',
  group: null,
  headers: {},
  attempt: 3,
  maxAttempts: 10,
  waitMs: 9.6,
};

it.each<[keyof DelayEventMap, step: string]>([
  ['started', 'handler called, attempt 3 of 10, 1.3 ms late'],
  ['completed', 'completed, attempt 3 of 10'],
  ['retrying', 'failed, attempt 3 of 10, again in 10 ms'],
  ['unreadable', 'cannot be read here, passed on to another node, no attempt spent'],
  ['split', 'its batch failed, runs again alone'],
  ['dead', 'dead letter after attempt 3'],
  ['postponed', 'postponed, again in 10 ms, no attempt spent'],
  ['released', 'given back, no attempt spent'],
  ['aborted', 'aborted by a cancel, no attempt spent'],
  ['superseded', 'moved on, its handler scheduled it again'],
  ['lost', 'lease lost, attempt 3 of 10 is ignored'],
  ['overrunning', 'timed out, attempt 3 of 10 still runs'],
])('%s is a step of its own, of what is followed', (event, step) => {
  follow('a:k');
  for (const key of ['other', 'k']) {
    events.emit(event, { ...OF, key, latenessMs: 1.26 });
  }
  expect(logger.lines()).toEqual([`a #7 (k): ${step}`]);
});

it('a write that a savepoint may have taken back is told as such', () => {
  follow('*');
  const write = { id: '7', name: 'a', key: null, verdict: 'scheduled', wakeAt: new Date(0) };
  for (const certain of [true, false]) events.emit('written', { ...write, certain });
  events.emit('written', { ...write, verdict: 'cancelled', wakeAt: null, certain: true });
  expect(logger.lines()).toEqual([
    'a #7: scheduled, wakes at 1970-01-01T00:00:00.000Z',
    'a #7: scheduled, wakes at 1970-01-01T00:00:00.000Z (unless a savepoint rolled it back)',
    'a #7: cancelled',
  ]);
});

it('says that it is not heard where the level debug is off, and nothing where it is not asked for', () => {
  const isEnabled = jest.spyOn(Logger, 'isLevelEnabled').mockReturnValue(false);
  follow('');
  expect(events.isHeard('written')).toBe(false);
  expect(logger.lines()).toEqual([]);
  follow('a');
  expect(events.isHeard('written')).toBe(true);
  expect(logger.lines()).toEqual([expect.stringContaining('leaves out the level debug')]);
  isEnabled.mockReturnValue(true);
  follow('a');
  expect(logger.lines()).toHaveLength(1);
});

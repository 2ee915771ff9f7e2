import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { DelayEventMap } from '../../src/delay-queue/api/events.js';
import { DelayTrace } from '../../src/delay-queue/delay.trace.js';
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

function traceOf(value: string): DelayTrace {
  process.env[VARIABLE] = value;
  try {
    return new DelayTrace(events);
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
  traceOf('a:k');
  for (const key of ['other', 'k']) {
    events.emit(event, { ...OF, key, latenessMs: 1.26 });
  }
  expect(logger.lines()).toEqual([`a #7 (k): ${step}`]);
});

it('a write that a savepoint may have taken back is told as such', () => {
  const trace = traceOf('*');
  const write = { id: 7, name: 'a', key: null, verdict: 'scheduled', wakeMs: 0 };
  for (const certain of [true, false]) trace.committed({ ...write, certain });
  trace.committed({ ...write, verdict: 'cancelled', wakeMs: null, certain: true });
  expect(logger.lines()).toEqual([
    'a #7: scheduled, wakes at 1970-01-01T00:00:00.000Z',
    'a #7: scheduled, wakes at 1970-01-01T00:00:00.000Z (unless a savepoint rolled it back)',
    'a #7: cancelled',
  ]);
});

it('says that it is not heard where the level debug is off, and nothing where it is not asked for', () => {
  const isEnabled = jest.spyOn(Logger, 'isLevelEnabled').mockReturnValue(false);
  expect(traceOf('').isOn).toBe(false);
  expect(logger.lines()).toEqual([]);
  expect(traceOf('a').isOn).toBe(true);
  expect(logger.lines()).toEqual([expect.stringContaining('leaves out the level debug')]);
  isEnabled.mockReturnValue(true);
  traceOf('a');
  expect(logger.lines()).toHaveLength(1);
});

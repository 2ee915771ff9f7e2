import { describe, expect, it } from '@jest/globals';
import { Cron } from 'croner';
import { assert, constantFrom, integer, property } from 'fast-check';
import { cronSentence } from '../../../src/delay-queue/dashboard/page/delay/cron-sentence.js';

const STEPPED = [
  '*/# * * * * *',
  '*/# * * * *',
  '0 */# * * *',
  '0 0 */# * *',
  '0 0 1 */# *',
  '0 0 * * */#',
];

/** In months where one is named, since those differ in length. */
function gapsOf(cron: string): Set<number> {
  const from = new Date('2027-01-01T00:00:00Z');
  const next = new Cron(cron, { timezone: 'UTC', paused: true }).nextRuns(20, from);
  const at = next.map((each) =>
    cron.startsWith('0 0 1 ') ? each.getUTCFullYear() * 12 + each.getUTCMonth() : each.getTime(),
  );
  return new Set(at.slice(1).map((each, index) => each - at[index]!));
}

function isCron(cron: string): boolean {
  try {
    return new Cron(cron, { paused: true }).nextRun() !== null;
  } catch {
    return false;
  }
}

describe('the sentence of a cron text', () => {
  it('says "every" of nothing that comes at uneven times', () => {
    assert(
      property(constantFrom(...STEPPED), integer({ min: 2, max: 59 }), (text, step) => {
        const cron = text.replace('#', String(step));
        if (!isCron(cron) || cronSentence(cron, 'en') === undefined) return;
        expect([cron, gapsOf(cron).size]).toEqual([cron, 1]);
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ['0 9 * * 1-5', 'At 09:00, Monday through Friday'],
    ['*/15 * * * *', 'Every 15 minutes'],
    ['0 0 12 L * *', 'At 12:00, on the last day of the month'],
    ['0 12 * * 5#2', 'At 12:00, on the second Friday of the month'],
    ['@daily', 'At 00:00'],
  ])('%s is "%s"', (cron, sentence) => {
    expect(cronSentence(cron, 'en')).toBe(sentence);
  });

  it.each([
    '*/35 * * * *',
    '0 0 */10 * *',
    '0 0 13 * 5',
    '0 12 L * 5',
    '0 0 13 * +5',
    '0 9 * * MON#L',
  ])('%s has none that is true: the text itself and the next instants say it', (cron) => {
    expect([isCron(cron), cronSentence(cron, 'en')]).toEqual([true, undefined]);
  });
});

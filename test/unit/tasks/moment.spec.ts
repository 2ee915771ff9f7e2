import { describe, expect, it } from '@jest/globals';
import { Moment } from '../../../src/delay-queue/tasks/moment.js';

describe('Moment', () => {
  it('is waited for by many, and each waits for the next alone', async () => {
    const moment = new Moment();
    const heard: string[] = [];
    moment.happens();
    const first = [moment.next, moment.next].map((next) => next.then(() => heard.push('first')));
    moment.happens();
    const second = moment.next.then(() => heard.push('second'));
    await Promise.all(first);
    await new Promise(setImmediate);
    expect(heard).toEqual(['first', 'first']);
    moment.happens();
    await second;
    expect(heard).toEqual(['first', 'first', 'second']);
  });
});

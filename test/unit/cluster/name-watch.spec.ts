import { expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { NameWatch } from '../../../src/delay-queue/core/cluster/name-watch.js';

it.each<[string, beats: (string | null)[], advice: number]>([
  ['of a process that ended, whatever it was named', ['other', 'own', 'own'], 0],
  ['of none', [null, null, null], 0],
  ['of one that said a last word', ['other', 'other', 'own', 'own'], 0],
  ['of another that lives', ['own', 'other', 'own', 'other'], 1],
  ['of another that lives, told once', ['own', 'other', 'other', 'other', 'other'], 1],
])('a heartbeat under the name of this node %s', (_, beats, advice) => {
  const events = new DelayEvents();
  const told: string[] = [];
  events.on('advice', ({ message }) => told.push(message));
  const watch = new NameWatch('web-1', 'own', events);
  for (const beat of beats) watch.beat(beat);
  expect(told).toEqual(Array(advice).fill(expect.stringContaining('is also named web-1;')));
});

import { expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { AbortRequests } from '../../../src/delay-queue/worker/hints.js';

it('attempts are asked to end, those here at once and others by a hint; a failure is told, not thrown', async () => {
  const told: string[] = [];
  const events = new DelayEvents();
  events.on('taskFailed', ({ task }) => told.push(task));
  events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
  let isDown = false;
  const store = {
    askAborts: async (ids: readonly number[]) => {
      if (isDown) throw new Error('down');
      return ids.map((id) => ({ id, epoch: 5, isOwn: id === 1 }));
    },
  };
  const here: unknown[] = [];
  const hints: unknown[] = [];
  const notifier = { abort: async (ids: number[]) => void hints.push(ids) };
  const inFlight = { abort: (claims: { id: number }[]) => here.push(claims.map(({ id }) => id)) };
  const requests = new AbortRequests(
    ...([store, notifier, inFlight, events] as unknown as ConstructorParameters<
      typeof AbortRequests
    >),
  );
  await requests.send([1, 2]);
  expect([here, hints, told]).toEqual([[[1, 2]], [[2]], []]);
  isDown = true;
  await requests.send([1]);
  isDown = false;
  await requests.send([3]);
  expect([hints, told]).toEqual([
    [[2], [3]],
    ['abort', 'abort again'],
  ]);
});

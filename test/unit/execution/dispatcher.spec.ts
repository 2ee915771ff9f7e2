import { expect, it } from '@jest/globals';
import { Dispatcher } from '../../../src/delay-queue/execution/dispatcher.js';
import { Signal } from '../../../src/delay-queue/tasks/signal.js';

const HOUR_MS = 3_600_000;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
}

it('a pause of all claims ends when something else works again', async () => {
  let claims = 0;
  const wakes: (() => void)[] = [];
  const intake = { ready: new Signal(), taken: () => {}, shut: () => {} };
  const call = { entries: [], release: () => {} };
  const reservations = {
    vacant: new Signal(),
    reserve: () => ({ calls: claims === 0 ? [call] : [], pauseLeftMs: Infinity }),
  };
  const claimer = {
    claim: async () => {
      claims += 1;
      return { pauseMs: HOUR_MS };
    },
    whenAnotherWorks: (wake: () => void) => wakes.push(wake),
    stop: () => {},
  };
  const acknowledger = { wrote: new Signal(), size: 0 };
  const calls = { stop: () => {} };
  const all = [intake, reservations, claimer, {}, calls, acknowledger];
  const dispatcher = new Dispatcher(
    ...(all as unknown as ConstructorParameters<typeof Dispatcher>),
  );
  intake.ready.tell();
  await turns();
  expect(claims).toBe(1);
  claims = 0;
  intake.ready.tell();
  await turns();
  expect(claims).toBe(0);
  for (const wake of wakes.splice(0)) wake();
  await turns();
  expect(claims).toBe(1);
  await dispatcher.stop();
});

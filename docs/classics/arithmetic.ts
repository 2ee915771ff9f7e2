import { Ring } from './ring.js';
import { TwoWheels } from './two-wheels.js';

/** A delay that a design asks of its own clock, and when it fires, in seconds. Nothing else happens. */
export interface Calculation {
  design: 'ring' | 'two-wheels';
  what: string;
  askedS: number;
  firedS: number;
}

/** A delay of more than one lap, and a loop that checks ten times a second. */
function ringBeyondItsLap(): Calculation {
  const ring = new Ring(60, 1_000, 0);
  ring.add('order', 70_000, 0);
  let nowMs = 0;
  while (ring.look(nowMs).length === 0) nowMs += 100;
  return {
    design: 'ring',
    what: 'ring of 60 s, 10 checks a second',
    askedS: 70,
    firedS: nowMs / 1_000,
  };
}

/** A process that is paused for two seconds misses the slot. */
function pausedRing(): Calculation {
  const ring = new Ring(60, 1_000, 0);
  ring.add('order', 10_000, 0);
  let nowMs = 0;
  while (ring.look(nowMs).length === 0) nowMs += nowMs === 9_000 ? 2_000 : 100;
  return {
    design: 'ring',
    what: 'the same, paused from 9 s to 11 s',
    askedS: 10,
    firedS: nowMs / 1_000,
  };
}

/** Sixty-one minutes. */
function wheelsBeyondTheHour(): Calculation {
  const wheels = new TwoWheels();
  wheels.add('order', 61 * 60);
  let firedS = 1;
  while (wheels.tick().length === 0) firedS += 1;
  return { design: 'two-wheels', what: 'minute and second wheel', askedS: 61 * 60, firedS };
}

export const calculations = (): Calculation[] => [
  ringBeyondItsLap(),
  pausedRing(),
  wheelsBeyondTheHour(),
];

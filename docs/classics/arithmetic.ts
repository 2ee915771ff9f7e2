import { Ring } from './ring.js';
import { TwoWheels } from './two-wheels.js';

/** A delay that a design asks of its own clock, and when it fires, in seconds. Nothing else happens. */
export interface Reckoning {
  design: 'ring' | 'two-wheels';
  what: string;
  askedS: number;
  firedS: number;
}

/** The lap of a ring of 60 seconds is over once; ten looks in a second. */
function ringBeyondItsLap(): Reckoning {
  const ring = new Ring(60, 1_000, 0);
  ring.add('order', 70_000, 0);
  let nowMs = 0;
  while (ring.look(nowMs).length === 0) nowMs += 100;
  return {
    design: 'ring',
    what: 'ring of 60 s, 10 looks a second',
    askedS: 70,
    firedS: nowMs / 1_000,
  };
}

/** The process stands still for two seconds, and passes the slot by. */
function ringThatStoodStill(): Reckoning {
  const ring = new Ring(60, 1_000, 0);
  ring.add('order', 10_000, 0);
  let nowMs = 0;
  while (ring.look(nowMs).length === 0) nowMs += nowMs === 9_000 ? 2_000 : 100;
  return {
    design: 'ring',
    what: 'the same, standing still from 9 s to 11 s',
    askedS: 10,
    firedS: nowMs / 1_000,
  };
}

/** Sixty-one minutes. */
function wheelsBeyondTheHour(): Reckoning {
  const wheels = new TwoWheels();
  wheels.add('order', 61 * 60);
  let firedS = 1;
  while (wheels.tick().length === 0) firedS += 1;
  return { design: 'two-wheels', what: 'minute and second wheel', askedS: 61 * 60, firedS };
}

export const reckonings = (): Reckoning[] => [
  ringBeyondItsLap(),
  ringThatStoodStill(),
  wheelsBeyondTheHour(),
];

import type { Invariant } from '../invariant.js';
import { everyDelayEnds } from './01-every-delay-ends.js';
import { oneEffect } from './02-one-effect.js';
import { neverEarly } from './03-never-early.js';
import { toldAndDone } from './04-told-and-done.js';
import { paidOrClosed } from './05-paid-or-closed.js';
import { stock } from './06-stock.js';
import { attemptsAndEpoch } from './07-attempts-and-epoch.js';
import { transitions } from './08-transitions.js';
import { acknowledgedSurvives } from './09-acknowledged-survives.js';
import { quiet } from './10-quiet.js';
import { limits } from './11-limits.js';
import { recurrences } from './12-recurrences.js';

/** All that must hold, in order. */
export const ALL: readonly Invariant[] = [
  everyDelayEnds,
  oneEffect,
  neverEarly,
  toldAndDone,
  paidOrClosed,
  stock,
  attemptsAndEpoch,
  transitions,
  acknowledgedSurvives,
  quiet,
  limits,
  recurrences,
];

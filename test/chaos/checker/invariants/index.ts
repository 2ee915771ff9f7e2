import type { Invariant } from '../invariant.js';
import { everyDelayEnds } from './01-every-delay-ends.js';
import { CHILDREN } from './02-children.js';
import { oneEffect } from './02-one-effect.js';
import { neverEarly } from './03-never-early.js';
import { toldAndDone } from './04-told-and-done.js';
import { paidOrClosed } from './05-paid-or-closed.js';
import { stock } from './06-stock.js';
import { attemptsAndEpoch } from './07-attempts-and-epoch.js';
import { BATCHES } from './07-batches.js';
import { transitions } from './08-transitions.js';
import { acknowledgedSurvives } from './09-acknowledged-survives.js';
import { quiet } from './10-quiet.js';

/** All that must hold, in order. The second and the seventh are looked at from two sides. */
export const ALL: readonly Invariant[] = [
  everyDelayEnds,
  { ...oneEffect, checks: [...oneEffect.checks, ...CHILDREN] },
  neverEarly,
  toldAndDone,
  paidOrClosed,
  stock,
  { ...attemptsAndEpoch, checks: [...attemptsAndEpoch.checks, ...BATCHES] },
  transitions,
  acknowledgedSurvives,
  quiet,
];

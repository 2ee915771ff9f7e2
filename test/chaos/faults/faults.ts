import type { ChaosFault } from './chaos-fault.js';
import { clock } from './clock.js';
import { commitLost, commitUnanswered } from './commit.js';
import { crash } from './crash.js';
import { cut } from './cut.js';
import { deploy } from './deploy.js';
import { halfOpen } from './half-open.js';
import { kill } from './kill.js';
import { latency } from './latency.js';
import { locks } from './locks.js';
import { nobody } from './nobody.js';
import { block, pool } from './orders.js';
import { pause, pauseShort } from './pause.js';
import { snapshot } from './snapshot.js';
import { terminate } from './terminate.js';

/** Every kind that a run can choose from. */
export const FAULTS: readonly ChaosFault[] = [
  kill,
  pause,
  pauseShort,
  block,
  nobody,
  deploy,
  clock,
  crash,
  terminate,
  cut,
  latency,
  halfOpen,
  commitLost,
  commitUnanswered,
  pool,
  locks,
  snapshot,
];

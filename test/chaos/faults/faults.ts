import { ALL_WORKERS } from './all-workers.js';
import { DATABASE } from './database.js';
import type { Fault } from './fault.js';
import { NETWORK } from './network.js';
import { ONE_PROCESS } from './one-process.js';

/** Every kind that a run can choose from. */
export const FAULTS: readonly Fault[] = [...ONE_PROCESS, ...ALL_WORKERS, ...NETWORK, ...DATABASE];

import { MUTANTS as IMPOLITE } from '../impolite/mutants/mutants.js';
import { CHANNELS_AND_EVENTS } from './channels.js';
import { RECURRENCES } from './recurrences.js';
import { ADMITTED } from './admission.js';
import { RERUNS } from './reruns.js';
import { MENDED } from './mended.js';
import { CROWDS } from './crowds.js';
import { SHARED_TRANSACTIONS } from './transactions.js';
import { FUNCTIONS_FOR_ONE } from './functions.js';
import { HEALTH } from './health.js';
import { TELEMETRY } from './telemetry.js';
import { IDLE } from './idle.js';
import { USERS_FUNCTIONS } from './users-functions.js';
import { DEPLOYS } from './deploys.js';
import { LIVES } from './lives.js';
import { CRASHES } from './crashes.js';
import { FAILOVERS } from './failovers.js';
import { COMMAND_LINE } from './command-line.js';
import { DASHBOARD_EMBEDDING } from './dashboard-embedding.js';
import { DASHBOARD_READS } from './dashboard.js';
import { DASHBOARD_OPERATIONS } from './dashboard-operations.js';
import { DASHBOARD_PAGE } from './dashboard-page.js';
import { EXPLANATIONS } from './explanations.js';
import { PAST } from './past.js';
import { STAND_INS } from './stand-ins.js';
import { TIME_IN_TESTS } from './time-in-tests.js';
import { LIMITS_AND_REFUSALS } from './limits-and-refusals.js';
import { FOREIGN_STATES } from './foreign-states.js';
import { FOREIGN_TRANSACTIONS } from './foreign-transactions.js';
import { NAMES_AND_OWNERS } from './names-and-owners.js';
import { STRANGERS } from './strangers.js';
import { RARE_AND_LATE } from './rare-and-late.js';
import { MUTANTS as CHAOS } from '../chaos/mutants/mutants.js';
import type { Mutant } from './mutant.js';

/** All mutants with a name. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  ...IMPOLITE,
  ...RECURRENCES,
  ...ADMITTED,
  ...RERUNS,
  ...MENDED,
  ...CROWDS,
  ...SHARED_TRANSACTIONS,
  ...FUNCTIONS_FOR_ONE,
  ...HEALTH,
  ...TELEMETRY,
  ...IDLE,
  ...USERS_FUNCTIONS,
  ...DEPLOYS,
  ...LIVES,
  ...CRASHES,
  ...FAILOVERS,
  ...PAST,
  ...EXPLANATIONS,
  ...COMMAND_LINE,
  ...DASHBOARD_EMBEDDING,
  ...DASHBOARD_READS,
  ...DASHBOARD_OPERATIONS,
  ...DASHBOARD_PAGE,
  ...STAND_INS,
  ...TIME_IN_TESTS,
  ...LIMITS_AND_REFUSALS,
  ...FOREIGN_STATES,
  ...FOREIGN_TRANSACTIONS,
  ...NAMES_AND_OWNERS,
  ...STRANGERS,
  ...RARE_AND_LATE,
  ...CHANNELS_AND_EVENTS,
  ...CHAOS,
};

/** What specs of the command line and of its checks call past the process. */
export { type Command, type CommandName, COMMANDS } from '../../src/delay-queue/cli/commands.js';
export { examine } from '../../src/delay-queue/cli/doctor.js';
export { type Option, type OptionName, OPTIONS } from '../../src/delay-queue/cli/options.js';
export { parse } from '../../src/delay-queue/cli/parse.js';
export { withSession } from '../../src/delay-queue/cli/session.js';
export { AS_MIGRATED } from '../../src/delay-queue/core/store/checks/as-migrated.js';
export {
  type Catalogued,
  findDrift,
  readCatalogue,
} from '../../src/delay-queue/core/store/checks/drift.js';
export type { Finding } from '../../src/delay-queue/core/store/checks/finding.js';
export { toFailure } from '../../src/delay-queue/cli/failures.js';
export { databaseGone } from '../../src/delay-queue/ops/report.js';
export { judgeTables } from '../../src/delay-queue/ops/checks/tables.js';
export { tryListen } from '../../src/delay-queue/ops/checks/server.js';
export {
  type HealthLimits,
  parseHealthLimits,
} from '../../src/delay-queue/ops/checks/health-limits.js';

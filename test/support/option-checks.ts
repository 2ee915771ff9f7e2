/** What checks options, of the module, of handlers and of filters. What moves in `src` moves here alone. */
export { parseRepeat } from '../../src/delay-queue/core/config/repeat.js';
export { cronIn } from '../../src/delay-queue/core/recurrence/instants.js';
export { parseDeclaration } from '../../src/delay-queue/core/handlers/handler.registry.js';
export { handlerSettings } from '../../src/delay-queue/core/handlers/handler-settings.js';
export { resolveOptions } from '../../src/delay-queue/core/config/options.js';
export { liveFilter } from '../../src/delay-queue/core/store/filter.table.js';
export { atStart } from '../../src/delay-queue/core/config/refusals.js';

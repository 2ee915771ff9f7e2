/** The core's words: what users of the library see of it, and the ring as well. */
export * from './api/adopted.js';
export * from './api/channels.js';
export * from './api/delay.js';
export * from './api/error-text.js';
export * from './api/errors.js';
export * from './api/events.js';
export * from './api/explanation.js';
export * from './api/health.js';
export * from './api/log-lines.js';
export * from './api/options.js';
export * from './api/selection.js';
export * from './api/telemetry.js';

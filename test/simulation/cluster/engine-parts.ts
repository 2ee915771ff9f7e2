/** The parts of the real engine that a simulation makes or looks into; see `engine.ts` beside. */
export { DataSource } from 'typeorm';
export { resolveOptions } from '../../../src/delay-queue/delay-queue.options.js';
export { DiscardDelay, PostponeDelay } from '../../../src/delay-queue/delay.errors.js';
export { DelayEvents } from '../../../src/delay-queue/delay.events.js';
export { DelayService } from '../../../src/delay-queue/delay.service.js';
export { Batcher } from '../../../src/delay-queue/engine/batcher.js';
export { currentCall } from '../../../src/delay-queue/engine/current-call.js';
export { Engine } from '../../../src/delay-queue/engine/engine.js';
export { InFlight } from '../../../src/delay-queue/engine/in-flight.js';
export { ReadAhead } from '../../../src/delay-queue/engine/read-ahead.js';
export { ReadyQueue } from '../../../src/delay-queue/engine/ready-queue.js';
export { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';
export { handlerSettings } from '../../../src/delay-queue/handlers/handler-settings.js';
export { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';

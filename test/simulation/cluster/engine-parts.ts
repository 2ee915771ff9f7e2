/** The parts of the real engine that a simulation makes or looks into; see `engine.ts` beside. */
export { DataSource } from 'typeorm';
export { resolveOptions } from '../../../src/delay-queue/options/resolve-options.js';
export { DiscardDelay, PostponeDelay } from '../../../src/delay-queue/delay/thrown-by-handlers.js';
export { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
export { DelayService } from '../../../src/delay-queue/delay.service.js';
export { Batcher } from '../../../src/delay-queue/settlement/batcher.js';
export { currentCall } from '../../../src/delay-queue/producer/transaction/handler-context.js';
export { Producer } from '../../../src/delay-queue/producer/producer.js';
export { Engine } from '../../../src/delay-queue/runtime/engine.js';
export { InFlight } from '../../../src/delay-queue/settlement/in-flight.js';
export { ReadyQueue } from '../../../src/delay-queue/intake/ready-queue.js';
export { HandlerRegistry } from '../../../src/delay-queue/handlers/handler.registry.js';
export { handlerSettings } from '../../../src/delay-queue/handlers/handler-settings.js';
export { TimingWheel } from '../../../src/delay-queue/wheel/timing-wheel.js';
export { WheelService } from '../../../src/delay-queue/wheel/wheel.service.js';

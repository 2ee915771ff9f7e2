import { withSimulatedPauses } from '../time/globals.js';

/**
 * The real engine, loaded so that its pauses are simulated ones. The simulation imports it from
 * here and nowhere else: who takes `node:timers/promises` in before has the real one.
 */
export const {
  Batcher,
  DataSource,
  DelayEvents,
  DelayService,
  DiscardDelay,
  Engine,
  HandlerRegistry,
  InFlight,
  PostponeDelay,
  Producer,
  ReadyQueue,
  TimingWheel,
  WheelService,
  currentCall,
  handlerSettings,
  resolveOptions,
} = await withSimulatedPauses(() => import('./engine-parts.js'));

import type { FactoryProvider } from '@nestjs/common';
import type { DelayName } from '../api/delay.js';
import { DelayEvents } from '../api/events.js';
import { nameAndKeyOf } from '../client/arguments.js';
import { checkKnownOptions } from '../config/known-options.js';
import type { DelayQueueOptions } from '../config/options.js';
import { resolveOptions } from '../config/resolve-options.js';
import { DelayAdmin } from '../delay.admin.js';
import { DelayService } from '../delay.service.js';
import { DelayWorker } from '../delay.worker.js';
import { WheelService } from '../timer-wheel/wheel.service.js';
import type { Engine } from '../worker/engine.js';
import type { StubAnswer, StubCall, StubScheduled } from './stub-calls.js';
import { StubProducer } from './stub-producer.js';

/**
 * Replaces the queue in a unit test without a database: records calls, and returns truthful
 * verdicts. Checks arguments as the queue does. Nothing fires, and a ROLLBACK undoes nothing; use
 * `DelayTesting` for that.
 *
 * ```ts
 * const stub = module.get(DelayStub);
 * await orders.place('42');
 * expect(stub.scheduled('order.close')).toMatchObject([{ key: '42', after: 1_800_000 }]);
 * ```
 */
export class DelayStub {
  /** @internal */
  constructor(private readonly producer: StubProducer) {}

  /** All writing calls, in order. A list of delays is one call for each. */
  get calls(): readonly StubCall[] {
    return this.producer.calls;
  }

  /** Calls that schedule under that name, in order. */
  scheduled<N extends DelayName>(name: N): StubScheduled<N>[] {
    const scheduled = this.calls.filter(({ call }) => call === 'schedule') as StubScheduled[];
    return scheduled.filter((call) => call.name === name) as unknown as StubScheduled<N>[];
  }

  /**
   * The next call about that key returns this answer and changes nothing. Several answers are used
   * in order.
   *
   * @param answer a verdict, such as `running`, or an error that is thrown
   */
  answerNext(name: DelayName, key: string, answer: StubAnswer): void {
    this.producer.answerNext(nameAndKeyOf(name, key), answer);
  }

  /** Forgets all calls, delays and answers: for `beforeEach`. */
  reset(): void {
    this.producer.reset();
  }
}

/** Options of the queue that decide which payloads it takes. */
export type DelayStubOptions = Pick<DelayQueueOptions, 'payloads' | 'payloadBytesMax'>;

/**
 * Providers that replace `DelayQueueModule` in a unit test, without a database: all that it
 * exports, and `DelayStub`.
 *
 * ```ts
 * const providers = [OrdersService, ...provideDelayStub()];
 * const module = await Test.createTestingModule({ providers }).compile();
 * ```
 */
export function provideDelayStub(options: DelayStubOptions = {}): FactoryProvider[] {
  checkKnownOptions(options, 'options', ['payloads', 'payloadBytesMax']);
  const resolved = resolveOptions(options);
  const stub = new StubProducer();
  const producer = stub.asProducer;
  const provided: [token: FactoryProvider['provide'], make: () => unknown][] = [
    [DelayStub, () => new DelayStub(stub)],
    [DelayService, () => new DelayService(resolved, producer)],
    [DelayAdmin, () => new DelayAdmin(producer)],
    [DelayWorker, () => new DelayWorker(idleEngine() as Engine)],
    [DelayEvents, () => new DelayEvents()],
    [WheelService, () => new WheelService()],
  ];
  return provided.map(([provide, useFactory]) => ({ provide, useFactory }));
}

/** Accepts run and stop, and has nothing to run. */
const idleEngine = (): Pick<Engine, 'isRunning' | 'run' | 'endRun'> => ({
  isRunning: false,
  async run() {
    (this as { isRunning: boolean }).isRunning = true;
  },
  async endRun() {
    (this as { isRunning: boolean }).isRunning = false;
  },
});

import type { FactoryProvider } from '@nestjs/common';
import { DelayEvents, type DelayName, type DelayQueueOptions } from '../core/index.js';
import {
  checkKnownOptions,
  DelayAdmin,
  type DelayClient,
  DelayService,
  DelayWorker,
  type Engine,
  parseNameAndKey,
  resolveOptions,
  WheelService,
} from '../core/ops.js';
import { DelayHealth } from '../ops/delay.health.js';
import type { StubAnswer, StubCall, StubScheduled } from './stub-calls.js';
import { StubClient } from './stub-client.js';

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
  constructor(private readonly client: StubClient) {}

  /** All writing calls, in order. A list of delays is one call for each. */
  get calls(): readonly StubCall[] {
    return this.client.calls;
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
    this.client.answerNext(parseNameAndKey(name, key), answer);
  }

  /** Forgets all calls, delays and answers: for `beforeEach`. */
  reset(): void {
    this.client.reset();
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
  const stub = new StubClient();
  const client = stub as unknown as DelayClient;
  const events = new DelayEvents();
  const engine = idleEngine() as Engine;
  const provided: [token: FactoryProvider['provide'], make: () => unknown][] = [
    [DelayStub, () => new DelayStub(stub)],
    [DelayService, () => new DelayService(resolved, client)],
    [DelayAdmin, () => new DelayAdmin(resolved, client)],
    [DelayWorker, () => new DelayWorker(engine)],
    [DelayEvents, () => events],
    [DelayHealth, () => new DelayHealth(engine, events, resolved)],
    [WheelService, () => new WheelService()],
  ];
  return provided.map(([provide, useFactory]) => ({ provide, useFactory }));
}

/** Accepts run and stop, has nothing to run, and is well. */
const idleEngine = (): Pick<Engine, 'isRunning' | 'run' | 'endRun' | 'vitals'> => ({
  isRunning: false,
  vitals: { state: 'running', worker: undefined },
  async run() {
    (this as { isRunning: boolean }).isRunning = true;
  },
  async endRun() {
    (this as { isRunning: boolean }).isRunning = false;
  },
});

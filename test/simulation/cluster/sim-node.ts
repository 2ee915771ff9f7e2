import { Pool, type PoolConfig } from 'pg';
import type { DataSource as TypeOrmDataSource } from 'typeorm';
import type { DelayEvents as Events } from '../../../src/delay-queue/delay/delay.events.js';
import type { DelayService as Delays } from '../../../src/delay-queue/delay.service.js';
import type { Producer as RealProducer } from '../../../src/delay-queue/producer/producer.js';
import type { Engine as RealEngine } from '../../../src/delay-queue/runtime/engine.js';
import type { WheelService as Wheel } from '../../../src/delay-queue/wheel/wheel.service.js';
import { connectTo, kill, SimClient, type Place } from '../postgres/client.js';
import { SimProcess } from '../time/sim-process.js';
import type { World } from '../world.js';
import {
  DataSource,
  DelayEvents,
  DelayService,
  Engine,
  HandlerRegistry,
  handlerSettings,
  Producer,
  resolveOptions,
  WheelService,
} from './engine.js';
import type { Invoke } from './handlers.js';

/** pg's own pool, over simulated connections. */
class SimPool extends Pool {
  constructor(config: PoolConfig) {
    super({ ...config, Client: SimClient as never });
  }
}

/** One process of the application: the real engine, service and wheel, TypeORM and pg's pool. */
export class SimNode {
  readonly process: SimProcess;
  #parts:
    | {
        dataSource: TypeOrmDataSource;
        engine: RealEngine;
        wheel: Wheel;
        producer: RealProducer;
        delays: Delays;
      }
    | undefined;
  #isReady = false;
  #stopping: Promise<void> | undefined;

  constructor(
    readonly name: string,
    readonly serves: readonly string[],
    private readonly world: World,
    place: Place,
    private readonly invoke: Invoke,
    private readonly watch: (node: SimNode, events: Events) => void,
  ) {
    this.process = new SimProcess(name, world.timeline, world.random.fork(`process ${name}`));
    connectTo(this.process, place);
    this.process.onUncaught = (error) => {
      // TypeORM listens to no connection while it starts.
      if (this.#isReady) world.violate(`${name} dies of ${String(error)}`);
      this.kill();
    };
  }

  /** It stood still at some time. */
  get wasPaused(): boolean {
    return this.process.pauses > 0;
  }

  /** It answers calls of clients. */
  get isServing(): boolean {
    return this.#isReady && this.#stopping === undefined && !this.process.isDead;
  }

  get delays(): Delays {
    return this.#parts!.delays;
  }

  get dataSource(): TypeOrmDataSource {
    return this.#parts!.dataSource;
  }

  /** As Nest does at bootstrap; a process that cannot start ends, and is started again. */
  start(): Promise<boolean> {
    return this.process.run(async () => {
      try {
        await this.#start();
        this.#isReady = true;
        this.world.note(this.name, `ready, serves ${this.serves.join()}`);
        return true;
      } catch (error) {
        this.world.note(this.name, `cannot start: ${String(error)}`);
        this.kill();
        return false;
      }
    });
  }

  /** As Nest does after SIGTERM. */
  stop(): Promise<void> {
    this.#stopping ??= this.process.run(async () => {
      this.world.note(this.name, 'SIGTERM');
      const { producer, engine, wheel, dataSource } = this.#parts!;
      await Promise.all([producer.beforeApplicationShutdown(), engine.stop()]);
      wheel.onApplicationShutdown();
      await producer.onApplicationShutdown();
      await dataSource.destroy();
      this.world.note(this.name, 'stopped');
    });
    return this.#stopping;
  }

  kill(): void {
    if (this.process.isDead) return;
    this.world.note(this.name, 'SIGKILL');
    kill(this.process);
  }

  async #start(): Promise<void> {
    const { options: given, kinds, poolMax } = this.world.scenario;
    const options = resolveOptions({ ...given, nodeName: this.name });
    const dataSource = new DataSource({
      type: 'postgres',
      driver: { Pool: SimPool, Client: SimClient },
      nativeDriver: {},
      database: 'simulated',
      extra: { max: poolMax },
    });
    const events = new DelayEvents();
    const wheel = new WheelService(10_000);
    const registry = new HandlerRegistry();
    for (const { name, options: own } of kinds) {
      if (!this.serves.includes(name)) continue;
      const settings = handlerSettings({ name, options: own }, name, options, () => {});
      registry.add({
        ...settings,
        place: name,
        invoke: (work, context) => this.invoke(this, settings, work, context),
      });
    }
    const engine = new Engine(options, dataSource, registry, wheel, events);
    const producer = new Producer(dataSource, engine, options);
    const delays = new DelayService(options, producer);
    this.#parts = { dataSource, engine, wheel, producer, delays };
    this.watch(this, events);
    await dataSource.initialize();
    await engine.start();
  }
}

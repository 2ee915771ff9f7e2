import type {
  Delay,
  DelayBatchContext,
  DelayContext,
  InTransaction,
  TransactionalDelayContext,
} from 'nestjs-delay-queue';
import type { Random } from '../../../src/random.js';
import type { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import type { Call } from '../../../src/delay-queue/execution/call/call.js';
import type { HandlerSettings } from '../../../src/delay-queue/handlers/handler-settings.js';
import type { EventChecks } from '../check/event-checks.js';
import type { RunChecks } from '../check/run-checks.js';
import { BROKEN_SQL, EFFECT_SQL } from '../postgres/catalog.js';
import type { World } from '../world.js';
import { currentCall, DiscardDelay, PostponeDelay } from './engine.js';
import type { SimNode } from './sim-node.js';

export type Invoke = (
  node: SimNode,
  settings: HandlerSettings,
  work: Delay | Delay[],
  context: DelayContext,
) => Promise<void>;

/** What a deed is done with; `delay` is one of the batch, if it is one. */
interface Scene {
  node: SimNode;
  settings: HandlerSettings;
  delay: Delay;
  context: DelayContext;
  random: Random;
}

/** Keeps no process alive: a handler that outlives its node is not the node's. */
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

const never = new Promise<never>(() => {});

/** The handler's own transaction, mostly; another hears `running` of the handler's own key. */
const saidBy = (context: DelayContext, random: Random): InTransaction['manager'] => {
  const { manager } = context as Partial<TransactionalDelayContext>;
  return manager === undefined || random.chance(0.8) ? manager : 'own';
};

/** Everything that handlers do in the wild. */
const misdeeds: Record<string, (scene: Scene) => Promise<void> | void> = {
  throws: ({ random }) => {
    throw random.pick([new Error('no luck'), null, 'a text', { code: 1 }]);
  },
  'takes long': ({ settings, random }) => pause(random.next() * settings.timeoutMs * 1.5),
  'takes longer than its lease': ({ settings, random }) =>
    pause(settings.leaseMs * (1 + random.next())),
  hangs: () => never,
  'gives up when told': ({ context: { signal } }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      if (signal.aborted) reject(signal.reason as Error);
    }),
  'fails late': async ({ settings }) => {
    await pause(settings.timeoutMs + 50);
    throw new Error('nobody hears this');
  },
  postpones: ({ random }) => {
    throw new PostponeDelay(random.integer(0, 3_000));
  },
  discards: () => {
    throw new DiscardDelay('not wanted');
  },
  'moves its own key': async ({ node, delay, context, random }) => {
    if (delay.key === null) return;
    const options = { manager: saidBy(context, random) };
    const after = random.integer(0, 3_000);
    if (random.chance(0.5)) {
      await node.delays.schedule(
        delay.name,
        { again: true },
        { after, key: delay.key, ...options },
      );
    } else await node.delays.reschedule(delay.name, delay.key, { after }, options);
  },
  'cancels its own key': async ({ node, delay, context, random }) => {
    const options = { manager: saidBy(context, random) };
    if (delay.key !== null) await node.delays.cancel(delay.name, delay.key, options);
  },
  'swallows an SQL error': async ({ context }) => {
    const { manager } = context as Partial<TransactionalDelayContext>;
    await manager?.query(BROKEN_SQL).catch(() => {});
  },
  'blocks the event loop': ({ node, random }) => {
    node.process.pause(random.next() * 8_000);
    return pause(1);
  },
  'kills the process': ({ node }) => {
    node.kill();
    return never;
  },
};

/** Handlers that do as they should, or whatever the dice say. */
export class Handlers {
  readonly #random: Random;
  readonly #moves = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly checks: RunChecks,
    private readonly events: EventChecks,
    private readonly isTrouble: () => boolean,
  ) {
    this.#random = world.random.fork('handlers');
  }

  readonly invoke: Invoke = async (node, settings, work, context) => {
    const call = currentCall() as Call;
    const { attempts } = call;
    this.checks.begins(node, call);
    this.events.begins(node, call);
    const delay = Array.isArray(work) ? this.#random.pick(work) : work;
    const deed = this.#deed(delay, settings);
    const what = attempts.map(({ id, epoch }) => `${id}/${epoch}`).join();
    const does = deed ?? 'as it should';
    this.world.note(node.name, `handler of ${settings.name} ${what} begins: ${does}`);
    try {
      const done = Array.isArray(work) ? this.#speak(node, call, work, context) : attempts;
      const { manager } = context as Partial<TransactionalDelayContext>;
      for (const { id, epoch } of manager ? done : []) {
        await manager?.query(EFFECT_SQL, [id, epoch]);
      }
      if (this.#random.chance(0.3)) await pause(this.#random.next() * 20);
      await (deed && misdeeds[deed]?.({ node, settings, delay, context, random: this.#random }));
      this.checks.succeeds(node, done);
    } catch (error) {
      this.checks.fails(attempts);
      throw error;
    } finally {
      this.checks.ends(node, call);
    }
  };

  /** Says of some that they are not done. @returns the attempts of the others */
  #speak(node: SimNode, call: Call, delays: Delay[], context: DelayContext): Attempt[] {
    const ctx = context as DelayBatchContext;
    const { isTrouble, world } = this;
    const isWordy = isTrouble() && !this.#random.chance(world.scenario.goodChance);
    return call.attempts.filter((attempt, index) => {
      if (!isWordy || this.#random.chance(0.6)) return true;
      const delay = delays[index] as Delay;
      if (this.#random.chance(0.3)) ctx.postpone(delay, this.#random.integer(0, 3_000));
      else ctx.fail(delay, this.#random.pick([new Error('of one'), null, new DiscardDelay('x')]));
      this.checks.said(node, attempt);
      return false;
    });
  }

  #deed(delay: Delay, { transactional }: HandlerSettings): string | undefined {
    // Without faults a lease is renewed for as long as its handler takes.
    if (this.world.scenario.isCalm && !transactional && this.#random.chance(0.1)) {
      return 'takes longer than its lease';
    }
    if (!this.isTrouble() || this.#random.chance(this.world.scenario.goodChance)) return undefined;
    const deed = this.#random.pick(Object.keys(misdeeds));
    if (deed !== 'moves its own key') return deed;
    // Recurring work ends some time.
    const moves = (this.#moves.get(delay.id) ?? 0) + 1;
    this.#moves.set(delay.id, moves);
    return moves > 3 ? undefined : deed;
  }
}

import type { EntityManager } from 'typeorm';
import { adopted } from '../api/adopted.js';
import type { Delay, DelayCall, AroundFunction, DelayName } from '../api/delay.js';
import { DelayAroundError, DelayLeaseLostError } from '../api/errors.js';
import type { Call } from './call.js';

/**
 * Calls the handler through its middleware.
 *
 * @param work argument of the handler: its delay, or its delays
 * @param handle calls the handler
 */
export function runMiddleware(
  call: Call,
  work: Delay | Delay[],
  handle: () => unknown,
): Promise<void> {
  return layer(call, new SeenCall(call, work), call.handler.around, handle);
}

async function layer(
  call: Call,
  seen: DelayCall,
  [around, ...inner]: readonly AroundFunction[],
  handle: () => unknown,
): Promise<void> {
  if (around === undefined) return void (await adopted(handle()));
  const inside = new Once(call, () => layer(call, seen, inner, handle));
  try {
    await adopted(around(seen, inside.next));
  } catch (error) {
    await inside.over();
    throw error;
  }
  await inside.lookedAt();
}

/** What one `around` wraps. It runs once, and the attempt does not end before it. */
class Once {
  #running: RunningMiddleware | undefined;
  #isOver = false;

  constructor(
    private readonly call: Call,
    private readonly run: () => Promise<void>,
  ) {}

  /** Throws instead of rejecting: an unhandled rejection would end the process. */
  readonly next = (): Promise<void> => {
    if (this.#running !== undefined) {
      throw new DelayAroundError('around called next() twice; the handler ran once');
    }
    // The call was cut, by its timeout for example: the delay may run elsewhere already.
    if (this.call.over || this.#isOver) {
      this.call.signal.throwIfAborted();
      throw new DelayAroundError('around called next() after the end; the handler did not run');
    }
    // The process stood still past the lease: another node may have the row.
    if (this.call.leaseEndsAtMs <= performance.now()) throw new DelayLeaseLostError();
    this.#running = RunningMiddleware.from(this.run);
    return this.#running;
  };

  /** The `around` threw: no other attempt begins while what it wraps still runs. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#running?.ended;
  }

  /** @throws what the `around` did not see */
  async lookedAt(): Promise<void> {
    const running = this.#running;
    if (running === undefined) {
      this.#isOver = true;
      throw new DelayAroundError(
        'around ended without calling next(), so the handler did not run; ' +
          'to skip it on purpose, throw DiscardDelay or PostponeDelay',
      );
    }
    const wasSeen = running.isAwaited && running.isOver;
    await this.over();
    if (!wasSeen) await running;
  }
}

/** A promise that knows whether it is awaited: an error must not get lost unseen. */
class RunningMiddleware extends Promise<void> {
  isAwaited!: boolean;
  isOver!: boolean;
  /** Never rejects. */
  ended!: Promise<void>;

  static from(run: () => Promise<void>): RunningMiddleware {
    const running = new RunningMiddleware((resolve) => {
      resolve(run());
    });
    running.isOver = false;
    const over = (): void => {
      running.isOver = true;
    };
    running.ended = running.then(over, over);
    running.isAwaited = false;
    return running;
  }

  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise has one
  override then<A = void, B = never>(
    onFulfilled?: ((value: void) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true;
    return super.then(onFulfilled, onRejected);
  }
}

class SeenCall implements DelayCall {
  readonly #call: Call;
  readonly name: DelayName;
  readonly delays: DelayCall['delays'];
  readonly manager: EntityManager | undefined;

  constructor(call: Call, work: Delay | Delay[]) {
    this.#call = call;
    this.name = call.handler.name as DelayName;
    this.delays = (Array.isArray(work) ? [...work] : [work]) as unknown as DelayCall['delays'];
    this.manager = call.manager;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

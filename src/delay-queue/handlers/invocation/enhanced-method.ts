import type {
  ArgumentMetadata,
  CanActivate,
  ExecutionContext,
  NestInterceptor,
  PipeTransform,
} from '@nestjs/common';
import { adopted } from '../../delay/adopted.js';
import type { Delay } from '../../delay/delay.js';
import { isVerdict } from '../../delay/thrown-by-handlers.js';
import { CONTEXT_TYPE, type HandlerCallArguments } from './delay-call-of.js';
import { DelayGuardError } from './enhancers.errors.js';
import { MethodRun } from './method-run.js';
import type { FilterHandler, NestParts } from './nest-parts.js';

/** What stands at a method, ready to run: the application's first, then those of the class and of the method. */
export interface Enhancers {
  guards: CanActivate[];
  interceptors: NestInterceptor[];
  pipes: PipeTransform[];
  filters: FilterHandler;
}

/** The method that they surround. */
export interface EnhancedTarget {
  instance: object;
  /** As it was when it was found: what decorators said of it hangs on the function. */
  method: (...args: unknown[]) => unknown;
  /** For messages. */
  place: string;
}

/** Pipes get a payload as they get the body of a request; its class is unknown. */
const PAYLOAD: ArgumentMetadata = { type: 'body', metatype: undefined, data: undefined };

/** A handler's method with what Nest puts around methods: guards, interceptors, pipes, the method, filters. */
export class EnhancedMethod {
  readonly #interceptors: NestInterceptor[];

  constructor(
    private readonly nest: NestParts,
    private readonly target: EnhancedTarget,
    private readonly enhancers: Enhancers,
  ) {
    this.#interceptors = enhancers.interceptors.map((interceptor) => ({
      intercept: (...given) => adopted(interceptor.intercept(...given)),
    }));
  }

  /**
   * @param invoke calls the method with what pipes make of its delays
   * @throws what fails the attempt
   */
  async call(
    args: HandlerCallArguments,
    invoke: (work: Delay | Delay[]) => unknown,
  ): Promise<void> {
    try {
      await this.#guard(args);
      await this.#intercept(args, invoke);
    } catch (error) {
      await this.#filter(error, args);
      throw error;
    }
  }

  async #guard(args: HandlerCallArguments): Promise<void> {
    const { instance, method, place } = this.target;
    for (const guard of this.enhancers.guards) {
      const asked: CanActivate = {
        canActivate: (context) => adopted(guard.canActivate(context)) as Promise<boolean>,
      };
      if (await this.nest.guards.tryActivate([asked], args, instance, method, CONTEXT_TYPE))
        continue;
      throw new DelayGuardError(`${guard.constructor.name} refused the call of ${place}`);
    }
  }

  async #intercept(
    args: HandlerCallArguments,
    invoke: (work: Delay | Delay[]) => unknown,
  ): Promise<void> {
    const { instance, method, place } = this.target;
    const [work, ctx] = args;
    const run = new MethodRun(place, async () => {
      const piped = await this.#piped(work);
      // The delay may run elsewhere by now.
      ctx.signal.throwIfAborted();
      await adopted(invoke(piped));
    });
    try {
      await ended(
        await this.nest.interceptors.intercept(
          this.#interceptors,
          args,
          instance,
          method,
          run.next,
          CONTEXT_TYPE,
        ),
      );
    } catch (error) {
      await run.over();
      throw error;
    }
    await run.completed();
  }

  async #piped(work: Delay | Delay[]): Promise<Delay | Delay[]> {
    if (this.enhancers.pipes.length === 0) return work;
    if (!Array.isArray(work)) return this.#pipedDelay(work);
    const all: Delay[] = [];
    for (const delay of work) all.push(await this.#pipedDelay(delay));
    return all;
  }

  async #pipedDelay(delay: Delay): Promise<Delay> {
    let payload: unknown = delay.payload;
    for (const pipe of this.enhancers.pipes) {
      payload = await adopted<unknown>(pipe.transform(payload, PAYLOAD));
    }
    return { ...delay, payload } as Delay;
  }

  /** A filter reports an error, or throws another one in its place. That it returns does not undo the error. */
  async #filter(error: unknown, args: HandlerCallArguments): Promise<void> {
    if (isVerdict(error)) return;
    const filtered: unknown = this.enhancers.filters.invokeCustomFilters(error, this.#host(args));
    await ended(await adopted(filtered));
  }

  #host(args: HandlerCallArguments): ExecutionContext {
    const { instance, method } = this.target;
    const host = this.nest.guards.createContext(args, instance, method);
    host.setType(CONTEXT_TYPE);
    return host;
  }
}

/** What an Observable emits is dropped; its error is not. */
async function ended(result: unknown): Promise<void> {
  if (!isObservable(result)) return;
  await new Promise<void>((resolve, reject) => {
    result.subscribe({ error: reject, complete: resolve });
  });
}

interface Subscribable {
  subscribe(observer: { error: (error: unknown) => void; complete: () => void }): unknown;
}

/** Of whatever copy of RxJS. */
const isObservable = (value: unknown): value is Subscribable =>
  typeof value === 'object' &&
  value !== null &&
  'subscribe' in value &&
  typeof value.subscribe === 'function';

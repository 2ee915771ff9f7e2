import type {
  CanActivate,
  NestInterceptor,
  PipeTransform,
  ExceptionFilter,
  ArgumentMetadata,
} from '@nestjs/common';
import type { ExternalContextCreator } from '@nestjs/core';
import { adopted } from '../api/adopted.js';
import type { Delay } from '../api/delay.js';
import { DelayGuardError, isVerdict } from '../api/errors.js';
import { type HandlerCallArguments, CONTEXT_TYPE } from './delay-request.js';
import { MethodRun } from './method-run.js';

/** Filters of a method. */
type FilterHandler = ReturnType<ExternalContextCreator['filtersContextCreator']['create']>;

/** Global enhancers. In Nest's order they come before those of a class. */
export interface Globals {
  guards: CanActivate[];
  interceptors: NestInterceptor[];
  pipes: PipeTransform[];
  filters: ExceptionFilter[];
}

/** Enhancers of a method, ready to run: the application's, then the class's, then the method's. */
type Enhancers = Omit<Globals, 'filters'> & { filters: FilterHandler };

/** The method inside the enhancers. */
interface EnhancedTarget {
  instance: object;
  /** The function at discovery: decorators attach their metadata to it. */
  method: (...args: unknown[]) => unknown;
  /** For messages. */
  place: string;
}

/** Pipes receive a payload like the body of a request; its class is unknown. */
const PAYLOAD: ArgumentMetadata = { type: 'body', metatype: undefined, data: undefined };

/** A handler's method with Nest's enhancers: guards, interceptors, pipes, the method, filters. */
export class EnhancedMethod {
  readonly #interceptors: NestInterceptor[];

  constructor(
    private readonly nest: ExternalContextCreator,
    private readonly target: EnhancedTarget,
    private readonly enhancers: Enhancers,
  ) {
    this.#interceptors = enhancers.interceptors.map((interceptor) => ({
      intercept: (...given) => adopted(interceptor.intercept(...given)),
    }));
  }

  /** @param invoke calls the method with the delays as the pipes return them */
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
      if (
        await this.nest['guardsConsumer'].tryActivate([asked], args, instance, method, CONTEXT_TYPE)
      )
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
      // Another node may run the delay now.
      ctx.signal.throwIfAborted();
      await adopted(invoke(piped));
    });
    try {
      await drainObservable(
        await this.nest['interceptorsConsumer'].intercept(
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

  /** A filter reports an error, or throws another one instead. Returning does not clear it. */
  async #filter(error: unknown, args: HandlerCallArguments): Promise<void> {
    if (isVerdict(error)) return;
    const { instance, method } = this.target;
    const host = this.nest['guardsConsumer'].createContext(args, instance, method);
    host.setType(CONTEXT_TYPE);
    const filtered: unknown = this.enhancers.filters.invokeCustomFilters(error, host);
    await drainObservable(await adopted(filtered));
  }
}

/** Awaits an Observable from any copy of RxJS. Emitted values are dropped; an error is thrown. */
async function drainObservable(result: unknown): Promise<void> {
  const { subscribe } = (result ?? {}) as { subscribe?: (observer: object) => unknown };
  if (typeof subscribe !== 'function') return;
  await new Promise<void>((resolve, reject) => {
    subscribe.call(result, { error: reject, complete: resolve });
  });
}

import { Injectable, Optional } from '@nestjs/common';
import { ModuleRef, type ContextId, ContextIdFactory } from '@nestjs/core';
import type { Delay, DelayContext } from '../api/delay.js';
import type { DelayEnhancers } from '../api/options.js';
import type { DelayRequest, DelayBatchRequest } from './delay-request.js';
import { NestEnhancers, type FoundMethod, isStatic, type InstanceWrapper } from './enhancers.js';
import type { EnhancedMethod } from './enhanced-method.js';
import type { Handler } from './handler.registry.js';

type Invoke = Handler['invoke'];

/** Makes the functions that call handler methods. */
@Injectable()
export class Invoker {
  constructor(
    @Optional() private readonly moduleRef: ModuleRef,
    private readonly nest: NestEnhancers,
  ) {}

  /**
   * A request-scoped or transient provider gets a new instance per attempt; any other has the
   * single instance that discovery found. Refuses an enhancer that Nest would skip or cannot run.
   */
  of(found: FoundMethod, enhancers: DelayEnhancers): Invoke {
    const { wrapper, instance } = found;
    if (isStatic(wrapper) && !this.nest.areScoped(enhancers)) {
      return createInvoke(found, instance, this.nest.of(found, enhancers));
    }
    // For its refusals; a factory's class is known only in the call.
    this.nest.apply(found, enhancers);
    return async (work, ctx) => {
      const contextId = this.contextOf(delayRequest(work, ctx));
      const target = isStatic(wrapper) ? instance : await this.resolve(wrapper, contextId);
      const made = { ...found, instance: target };
      const enhanced = await this.nest.ofRequest(made, enhancers, contextId);
      return createInvoke(found, target, enhanced)(work, ctx);
    };
  }

  private contextOf(request: object): ContextId {
    const contextId = ContextIdFactory.getByRequest(request);
    this.moduleRef.registerRequestByContextId(request, contextId);
    return contextId;
  }

  /** In its own module: another module may provide another class for the same token. */
  private resolve({ token, host }: InstanceWrapper, contextId: ContextId): Promise<object> {
    const ofHost = host?.providers.get(ModuleRef)?.instance as ModuleRef | undefined;
    if (ofHost !== undefined) return ofHost.resolve<object>(token, contextId, { strict: true });
    return this.moduleRef.resolve<object>(token, contextId, { strict: false });
  }
}

function createInvoke(
  { methodName }: FoundMethod,
  target: object,
  enhanced: EnhancedMethod | undefined,
): Invoke {
  // Looked up on each call, so that a spy or patch of the method takes effect.
  const call: Invoke = (work, ctx) => Reflect.get(target, methodName).call(target, work, ctx);
  if (enhanced === undefined) return call;
  return (work, ctx) => enhanced.call([work, ctx], (piped) => call(piped, ctx));
}

const delayRequest = (work: Delay | Delay[], ctx: DelayContext): DelayRequest | DelayBatchRequest =>
  Array.isArray(work) ? { delays: work, ctx } : { delay: work, ctx };

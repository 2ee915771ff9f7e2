import {
  applyDecorators,
  type CallHandler,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
  Scope,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import type { Delay, DelayEnhancers } from 'nestjs-delay-queue';
import type { Observable } from 'rxjs';
import { calls, CTX, DELAY, explored } from './explored.js';

/** What enhancers are injected with. */
@Injectable()
export class Diary {
  readonly said = calls;
}

/** A class that is all four, as it is somewhere between. */
export function enhancer(word: string, scope = Scope.DEFAULT): Type {
  @Injectable({ scope })
  @Catch()
  class Enhancer implements CanActivate, NestInterceptor, PipeTransform, ExceptionFilter {
    constructor(private readonly diary: Diary) {}

    canActivate(): boolean {
      this.diary.said.push(`${word} guard`);
      return true;
    }

    intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
      this.diary.said.push(`${word} interceptor`);
      return next.handle();
    }

    transform(payload: unknown): unknown {
      this.diary.said.push(`${word} pipe`);
      return payload;
    }

    catch(): void {
      this.diary.said.push(`${word} filter`);
    }
  }
  return Enhancer;
}

/** On a class or a method: as guard, interceptor, pipe and filter. */
export const Enhanced = (by: Type) =>
  applyDecorators(UseGuards(by), UseInterceptors(by), UsePipes(by), UseFilters(by));

/** What was called, in order, when the handler of that name is. */
export async function calledBy(
  providers: Provider[],
  enhancers: DelayEnhancers,
  { name = 'test.enhanced', payload = null as string | null, controllers = [] as Type[] } = {},
): Promise<unknown[]> {
  const registry = await explored([Diary, ...providers], { controllers, options: { enhancers } });
  const delay: Delay = { ...DELAY, payload };
  const handler = registry.get(name);
  await (async () => handler?.invoke(delay, CTX))().catch((error: Error) => {
    calls.push(error.message);
  });
  return calls.splice(0);
}

import {
  ForbiddenException,
  Injectable,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import type { Request } from 'express';

/** What the page may do, and no page of somebody else's that is open in the same browser. */
@Injectable()
export class SameOriginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { origin, host } = context.switchToHttp().getRequest<Request>().headers;
    if (origin === undefined) return true;
    if (URL.canParse(origin) && new URL(origin).host === host) return true;
    throw new ForbiddenException('a page of another origin may not do this');
  }
}

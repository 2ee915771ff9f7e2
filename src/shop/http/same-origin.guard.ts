import { ForbiddenException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * What changes something may be asked for by the shop's own page and by programs, and by no other page
 * that is open in the same browser.
 */
export class SameOriginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { method, headers } = context.switchToHttp().getRequest<Request>();
    if (READING.has(method) || !isOfAnotherPage(headers)) return true;
    throw new ForbiddenException('a page of another origin may not do this');
  }
}

/** Browsers say whose page asks, over HTTPS and on this machine; else the origin is compared with the host. */
function isOfAnotherPage({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  // Right behind a proxy that changes the host, too.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

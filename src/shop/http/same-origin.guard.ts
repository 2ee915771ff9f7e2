import { ForbiddenException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Only the shop's own page, and programs, may change something: no other page in the same browser.
 */
export class SameOriginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { method, headers } = context.switchToHttp().getRequest<Request>();
    if (READING.has(method) || !isOfAnotherPage(headers)) return true;
    throw new ForbiddenException('a page of another origin may not do this');
  }
}

/** Browsers report the page over HTTPS and on this machine; else the origin must match the host. */
function isOfAnotherPage({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  // Correct also behind a proxy that changes the host.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

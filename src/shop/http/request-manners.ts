import { HttpException } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** The part of a layer in Express's routing table that is used here. */
interface Layer {
  match(path: string): boolean;
  route?: { methods: Record<string, boolean> };
}

/**
 * For paths that have routes: 405 with `Allow` for an unsupported method, and 415 for a body that
 * is not declared as JSON. Other paths are left alone: they are files, or do not exist.
 */
export function requestManners(app: NestExpressApplication): RequestHandler {
  const express = app.getHttpAdapter().getInstance() as unknown as {
    router: { stack: Layer[] };
  };
  return (request: Request, response: Response, next: NextFunction) => {
    const allowed = methodsAt(express.router.stack, request.path);
    if (allowed.length === 0) return next();
    if (request.method === 'OPTIONS' || !allowed.includes(request.method)) {
      response.set('Allow', allowed.join(', '));
      if (request.method === 'OPTIONS') return response.status(204).end();
      throw new HttpException(
        `${request.method} is not possible here; ${allowed.join(', ')} is`,
        405,
      );
    }
    if (hasBody(request) && !request.is('application/json')) {
      response.set('Accept', 'application/json');
      throw new HttpException('send the body as JSON, with content-type: application/json', 415);
    }
    return next();
  };
}

/** In upper case, sorted; empty when there is no route. */
function methodsAt(stack: readonly Layer[], path: string): string[] {
  const methods = stack
    .filter((layer) => layer.route && matches(layer, path))
    .flatMap(({ route }) => Object.keys(route!.methods).map((method) => method.toUpperCase()));
  const all = new Set(methods);
  if (all.has('GET')) all.add('HEAD');
  return [...all].toSorted();
}

/** A path that cannot be decoded is left to the router, which reports it. */
function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false;
  }
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

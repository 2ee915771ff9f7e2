import { HttpException } from '@nestjs/common';
import type { RequestHandler } from 'express';
import type { Server } from 'node:http';
import { isIPv4 } from 'node:net';

/**
 * A shop that listens on loopback answers only requests for a loopback host, including reads and
 * the feed. Otherwise a page of another site can point its own name at 127.0.0.1, and its browser
 * takes the shop for that site (DNS rebinding). Only `Host` counts: anyone can write what a proxy
 * adds.
 */
export function loopbackHosts(server: Server): RequestHandler {
  return ({ headers }, _response, next) => {
    const address = server.address();
    const isLocal = typeof address === 'object' && address !== null && isLoopback(address.address);
    if (isLocal && !isLoopbackHost(headers.host ?? '')) {
      throw new HttpException('this shop answers only as localhost or 127.0.0.1', 421);
    }
    next();
  };
}

/** `Host` may have a port, and the trailing dot of a full name. */
function isLoopbackHost(host: string): boolean {
  const name = host
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return name === 'localhost' || name === '[::1]' || isLoopback(name);
}

const isLoopback = (address: string): boolean =>
  address === '::1' || (isIPv4(address) && address.startsWith('127.'));

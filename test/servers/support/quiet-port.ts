import { randomInt } from 'node:crypto';
import { freePort } from '../../../src/embedded-postgres/free-port.js';

/**
 * Below the ports that systems hand out to connections going out (from 32768 on Linux, from 49152
 * elsewhere). While a server is down its clients knock all the time; among those ports one of them
 * would sooner or later get the server's own, be connected with itself, and keep the server out.
 */
const FIRST = 20_000;
const LAST = 32_000;

const TRIES = 50;

/** A free port that stays free while the server is down. */
export async function quietPort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST, LAST);
    if ((await freePort(port)) === port) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${LAST}`);
}

import { expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import type { Server } from 'node:http';
import { loopbackHosts } from '../../../src/shop/http/loopback-hosts.js';

function answers(address: string, host: string | undefined): boolean {
  const server = { address: () => ({ address, family: 'IPv4', port: 3000 }) } as unknown as Server;
  const headers = { host, 'x-forwarded-host': 'localhost' };
  let isAnswered = false;
  try {
    const next = (): void => void (isAnswered = true);
    void loopbackHosts(server)({ headers } as unknown as Request, {} as Response, next);
  } catch {
    return false;
  }
  return isAnswered;
}

it.each([
  'localhost',
  'localhost.',
  'LOCALHOST:3000',
  '127.0.0.1:3000',
  '127.9.9.9',
  '[::1]:3000',
  '[::1]',
])('a shop on loopback answers as %s', (host) => expect(answers('127.0.0.1', host)).toBe(true));

it.each([
  'evil.example',
  'evil.example:3000',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'localhost..',
  '10.0.0.1',
  '[::2]',
  '',
  undefined,
])('a shop on loopback does not answer as %s, whatever a proxy adds', (host) =>
  expect(answers('::1', host)).toBe(false),
);

it('a shop that listens elsewhere answers as whatever it is called', () =>
  expect(answers('0.0.0.0', 'shop.example')).toBe(true));

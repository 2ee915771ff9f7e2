import { describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import type { Request, Response } from 'express';
import { loopbackHosts } from '../../../src/shop/http/loopback-hosts.js';
import { readSettings, ShopConfigError } from '../../../src/shop/shop.config.js';

const DATABASE_URL = 'postgres://localhost/shop';

const read = (env: NodeJS.ProcessEnv) => readSettings(env, { prod: false });

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

describe('settings', () => {
  it('are short in the demo', () => {
    expect(read({})).toEqual({
      payWithinMs: 30_000,
      remindBeforeMs: 10_000,
      smsAfterMs: 5_000,
      confirmAfterMs: 20_000,
      rateAfterMs: 20_000,
      messagesPerSecond: 5,
      demo: true,
      logLevels: ['fatal', 'error', 'warn'],
      host: '127.0.0.1',
      port: 3000,
    });
  });

  it('are real with --prod', () => {
    expect(readSettings({ DATABASE_URL }, { prod: true })).toEqual({
      payWithinMs: 30 * 60_000,
      remindBeforeMs: 10 * 60_000,
      smsAfterMs: 60_000,
      confirmAfterMs: 14 * 24 * 3_600_000,
      rateAfterMs: 48 * 3_600_000,
      messagesPerSecond: 20,
      demo: false,
      logLevels: ['fatal', 'error', 'warn'],
      host: '127.0.0.1',
      port: 3000,
    });
  });

  it('come from the environment; what is set to nothing is not set', () => {
    const env = {
      ORDER_PAY_WITHIN: '1.5 h',
      ORDER_RATE_AFTER: '',
      ORDER_REMIND_BEFORE: 'off',
      ORDER_SMS_AFTER: 'off',
      MESSAGES_URL: 'https://sms.example/hook',
      PORT: '0',
      HOST: '::1',
    };
    expect(read(env)).toMatchObject({
      payWithinMs: 5_400_000,
      rateAfterMs: 20_000,
      remindBeforeMs: null,
      smsAfterMs: null,
      messagesUrl: 'https://sms.example/hook',
      port: 0,
      host: '::1',
    });
  });

  it.each([
    ['MESSAGES_URL', ['sms.example', 'ftp://sms.example', 'https://user:secret@sms.example']],
    ['ORDER_PAY_WITHIN', ['30', '30 minuts', '-5m', '0s', '1e3s', '4000d', '30m; rm', 'off']],
    ['REFUNDS_URL', ['refunds.example', 'https://user:secret@refunds.example']],
    ['PAYMENTS_TOKEN', ['secret', 'a secret with spaces', 'sécret-of-the-provider']],
    ['PORT', ['http', '65536', '-1', '30.5']],
    ['MESSAGES_PER_SECOND', ['0', '1001', '1.5', '1e2']],
    ['LOG_LEVEL', ['loud']],
  ])('name %s when it is none of %j, and repeat no secret', (variable, values) => {
    for (const value of values) {
      expect(() => read({ [variable]: value })).toThrow(ShopConfigError);
      expect(() => read({ [variable]: value })).toThrow(new RegExp(`^${variable}: `));
      expect(() => read({ [variable]: value })).not.toThrow(/secret/);
    }
  });

  it('name everything that is wrong at once', () => {
    const env = { ORDER_SMS_AFTER: 'x', PORT: 'y' };
    expect(() => readSettings(env, { prod: true })).toThrow(
      /ORDER_SMS_AFTER: [^]*PORT: [^]*DATABASE_URL: /,
    );
  });
});

describe('the hosts of a shop on loopback', () => {
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
});

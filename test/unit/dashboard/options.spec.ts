import { afterEach, describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import {
  type DelayQueueDashboardOptions,
  resolveDashboardOptions,
} from '../../../src/delay-queue/dashboard/options.js';
import { Rights, resolveRights } from '../../../src/delay-queue/dashboard/rights.js';

const authorize = () => null;

const resolved = (options: object) =>
  resolveDashboardOptions(options as DelayQueueDashboardOptions);

describe('options', () => {
  it.each([
    ['/delays', 'delays'],
    ['delays', 'delays'],
    ['/admin/delays/', 'admin/delays'],
    ['/.well-known/queue_1~a', '.well-known/queue_1~a'],
  ])('path %j is %j', (path, expected) => {
    expect(resolved({ authorize, path }).path).toBe(expected);
  });

  it.each([
    [{}, /authorize: is missing. Decide who may use the dashboard/],
    [{ authorize: true }, /authorize: must be a function or 'loopback', not true/],
    [{ authorize, path: '' }, /path: must be like '\/delays'/],
    [{ authorize, path: '/a b' }, /path: must be like/],
    [{ authorize, path: '/:tenant/delays' }, /path: must be like/],
    [{ authorize, path: '/a//b' }, /path: must be like/],
    [{ authorize, path: 7 }, /path: must be like/],
    [{ authorize, redact: 'card' }, /redact: must be a function/],
    [{ authorize, environment: '' }, /environment: must be a text of 1 to 40 characters/],
    [{ authorize, environment: { label: 'x', tone: 'red' } }, /environment.tone: must be 'danger'/],
    [{ authorize, environment: { label: 'x', colour: 'red' } }, /environment.*colour/],
    [{ authorize, health: { lateAfter: '5' } }, /lateAfter/],
    [{ authorize, health: { late: '5s' } }, /health.*late.*lateAfter/],
    [{ authorise: authorize }, /authorise.*authorize/],
    [null, /options/],
  ])('%j is refused', (options, message) => {
    expect(() => resolved(options as object)).toThrow(message);
    expect(() => resolved(options as object)).toThrow(/^DelayQueueDashboardModule: /);
  });

  it.each([
    [undefined, null],
    ['production', { label: 'production', tone: 'danger' }],
    ['Prod EU', { label: 'Prod EU', tone: 'danger' }],
    ['staging', { label: 'staging', tone: 'calm' }],
    [
      { label: 'prod', tone: 'warning' },
      { label: 'prod', tone: 'warning' },
    ],
  ])('environment %j has the badge %j', (environment, badge) => {
    expect(resolved({ authorize, environment }).environment).toEqual(badge);
  });
});

/** @returns what a request from there may do */
const asked = (remoteAddress: string, headers: Record<string, string>) =>
  resolveRights(
    { socket: { remoteAddress }, headers } as unknown as IncomingMessage,
    resolved({ authorize: 'loopback' }).authorize,
  );

describe('loopback', () => {
  const environment = process.env['NODE_ENV'];
  afterEach(() => {
    process.env['NODE_ENV'] = environment;
  });

  it('is refused in production', () => {
    process.env['NODE_ENV'] = 'production';
    expect(() => resolved({ authorize: 'loopback' })).toThrow(/'loopback' is for development/);
  });

  it.each([
    ['127.0.0.1', { host: 'localhost:3000' }],
    ['::1', { host: '[::1]:3000' }],
    ['::ffff:127.0.0.1', { host: '127.0.0.1' }],
    ['127.8.9.1', { host: 'LOCALHOST' }],
  ])('takes %s, asked for as %j', async (address, headers) => {
    expect(await asked(address, headers)).toMatchObject({ who: 'loopback', seesAll: true });
  });

  it.each([
    ['10.0.0.7', { host: 'localhost' }],
    ['::ffff:10.0.0.7', { host: 'localhost' }],
    ['127.0.0.1', { host: 'evil.example:3000' }],
    ['127.0.0.1', { host: 'localhost.evil.example' }],
    ['127.0.0.1', { host: '127.0.0.1.evil.example' }],
    ['127.0.0.1', { host: 'localhost', 'x-forwarded-for': '10.0.0.7' }],
    ['127.0.0.1', { host: 'localhost', forwarded: 'for=10.0.0.7' }],
    ['127.0.0.1', {}],
    ['', { host: 'localhost' }],
  ])('refuses %s, asked for as %j', async (address, headers) => {
    expect(await asked(address, headers as Record<string, string>)).toBeUndefined();
  });
});

describe('rights', () => {
  it.each([
    [{ who: '', actions: 'all' }, /who: must be a text of 1 to 255 characters/],
    [{ who: 'x'.repeat(256), actions: 'all' }, /who/],
    [{ actions: 'all' }, /who/],
    [{ who: 'anna', actions: 'view' }, /actions: must be 'all' or a list of view, /],
    [{ who: 'anna', actions: ['view', 'delete'] }, /actions/],
    [{ who: 'anna' }, /actions/],
    [{ who: 'anna', actions: 'all', names: 'order.close' }, /names: must be a list/],
    [{ who: 'anna', actions: 'all', groups: [7] }, /groups: must be a list/],
    [{ who: 'anna', actions: 'all', groups: Array(101).fill('g') }, /groups/],
  ])('%j is no grant', async (grant, message) => {
    const given = resolveRights({} as IncomingMessage, () => grant as never);
    await expect(given).rejects.toThrow(message);
    await expect(given).rejects.toThrow(/^DelayQueueDashboardModule: authorize: /);
  });

  it('without view there is nothing', async () => {
    const grant = { who: 'anna', actions: ['cancel'] } as const;
    expect(await resolveRights({} as IncomingMessage, () => grant)).toBeUndefined();
    expect(new Rights(grant).may('cancel')).toBe(false);
  });

  it('with limits sees only what is within all of them', () => {
    const rights = new Rights({ who: 'a', actions: ['view'], names: ['n'], groups: ['g', 'h'] });
    expect(rights.seesAll).toBe(false);
    expect(rights.sees({ name: 'n', group: 'h' })).toBe(true);
    expect(rights.sees({ name: 'm', group: 'h' })).toBe(false);
    expect(rights.sees({ name: 'n', group: 'i' })).toBe(false);
    expect(rights.sees({ name: 'n', group: null })).toBe(false);
    // An empty list is nothing, not all.
    expect(
      new Rights({ who: 'a', actions: 'all', names: [] }).sees({ name: 'n', group: null }),
    ).toBe(false);
  });
});

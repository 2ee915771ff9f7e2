import type { IncomingMessage } from 'node:http';
import { DelayConfigError, type HealthOptions } from '../core/index.js';
import { atStart, checkKnownOptions, DEFAULT_QUEUE, shown } from '../core/ops.js';
import { parseHealthLimits } from '../ops/checks/health-limits.js';
import { DASHBOARD_ACTIONS, type DashboardAction } from './contract.js';

/** What one viewer may see and do. */
export interface DashboardGrant {
  /** Written down with every action: an e-mail address, a login. 1 to 255 characters. */
  who: string;
  /** `'all'`, or the actions that are allowed. Without `'view'` the dashboard does not exist. */
  actions: 'all' | readonly DashboardAction[];
  /** Only delays of these names; default all. */
  names?: readonly string[];
  /** Only delays of these groups; default all. */
  groups?: readonly string[];
}

/**
 * Decides about a request, as the host's HTTP server has it: an Express request on Express, Node's
 * on Fastify, and about a queue, which is `'default'` in most applications. `null` or `undefined`: refused.
 */
export type DashboardAuthorize = (
  request: IncomingMessage,
  about: { queue: string },
) => DashboardGrant | null | undefined | Promise<DashboardGrant | null | undefined>;

/** Options of `DelayQueueDashboardModule.forRoot`. */
export interface DelayQueueDashboardOptions {
  /**
   * Who may see and do what. `'loopback'`: a request from this machine may do all; for development,
   * and refused when `NODE_ENV` is `production`.
   */
  authorize: DashboardAuthorize | 'loopback';
  /** Below the global prefix, unless that excludes it. Default `'/delays'`. */
  path?: string;
  /** What counts as unhealthy, as for `DelayHealth.check`. Default its defaults. */
  health?: HealthOptions;
  /** The badge beside the title, such as `'production'`. Default none. */
  environment?: string | { label: string; tone: 'danger' | 'warning' | 'calm' };
  /** What of a payload is shown; called with what the codec decoded. Default all of it. */
  redact?: (payload: unknown, delay: { name: string; key: string | null }) => unknown;
}

export interface ResolvedDashboardOptions {
  /** Of one queue. */
  authorize: (request: IncomingMessage) => ReturnType<DashboardAuthorize>;
  /** Without a slash at its ends. */
  path: string;
  environment: { label: string; tone: 'danger' | 'warning' | 'calm' } | null;
  health: HealthOptions;
  redact: DelayQueueDashboardOptions['redact'];
}

const refused = (message: string): DelayConfigError =>
  new DelayConfigError(`DelayQueueDashboardModule: ${message}`);

const LOOPBACK_ADDRESS = /^(?:::ffff:)?127\.|^::1$/;
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/**
 * Grants that to requests from this machine. The host counts, too: a page whose name was made to lead
 * to this machine sends its own. And a proxy counts as elsewhere: it forwards from this machine.
 */
export const loopback =
  (grant: DashboardGrant): ResolvedDashboardOptions['authorize'] =>
  ({ socket, headers }) => {
    const isForwarded = 'forwarded' in headers || 'x-forwarded-for' in headers;
    const isLocal =
      LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '') && LOOPBACK_HOST.test(headers.host ?? '');
    return isLocal && !isForwarded ? grant : null;
  };

const KNOWN = ['authorize', 'path', 'environment', 'redact', 'health'];

const TONES = ['danger', 'warning', 'calm'] as const;
const PATH = /^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/;

/** @throws DelayConfigError which option is wrong, and why */
export function resolveDashboardOptions(
  given: DelayQueueDashboardOptions,
  queue: string = DEFAULT_QUEUE,
): ResolvedDashboardOptions {
  return atStart('DelayQueueDashboardModule', () => {
    const {
      authorize,
      path = '/delays',
      environment,
      redact,
      health = {},
    } = checkKnownOptions(given, 'options', KNOWN);
    parseHealthLimits(health, 'health');
    if (authorize !== 'loopback' && typeof authorize !== 'function') {
      throw refused(
        authorize === undefined
          ? "authorize: is missing. Decide who may use the dashboard: authorize: (request) => ({ who, actions: ['view'] }), or 'loopback' in development"
          : `authorize: must be a function or 'loopback', not ${shown(authorize)}`,
      );
    }
    if (authorize === 'loopback' && process.env['NODE_ENV'] === 'production') {
      throw refused(
        "authorize: 'loopback' is for development, and NODE_ENV is production: give a function",
      );
    }
    const trimmed = typeof path === 'string' ? path.replaceAll(/^\/+|\/+$/g, '') : '';
    if (!PATH.test(trimmed)) {
      throw refused(
        `path: must be like '/delays' or '/admin/delays', of letters, digits and ._~-, not ${shown(path)}`,
      );
    }
    if (redact !== undefined && typeof redact !== 'function') {
      throw refused(`redact: must be a function, not ${shown(redact)}`);
    }
    return {
      authorize:
        authorize === 'loopback'
          ? loopback({ who: 'loopback', actions: 'all' })
          : (request) => (authorize as DashboardAuthorize)(request, { queue }),
      path: trimmed,
      environment: parseEnvironment(environment),
      health: health as HealthOptions,
      redact: redact as ResolvedDashboardOptions['redact'],
    };
  });
}

function parseEnvironment(given: unknown): ResolvedDashboardOptions['environment'] {
  if (given === undefined) return null;
  const { label, tone } =
    typeof given === 'string'
      ? { label: given, tone: /^prod/i.test(given) ? 'danger' : 'calm' }
      : checkKnownOptions(given, 'environment', ['label', 'tone']);
  if (typeof label !== 'string' || !/^[^\n]{1,40}$/.test(label)) {
    throw refused(`environment: must be a text of 1 to 40 characters, not ${shown(given)}`);
  }
  const known = TONES.find((each) => each === tone);
  if (known === undefined) {
    throw refused(`environment.tone: must be 'danger', 'warning' or 'calm', not ${shown(tone)}`);
  }
  return { label, tone: known };
}

export const isAction = (value: unknown): value is DashboardAction =>
  (DASHBOARD_ACTIONS as readonly unknown[]).includes(value);

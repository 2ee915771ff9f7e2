import { HttpException } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { DelayConfigError } from '../core/index.js';
import { shown } from '../core/ops.js';
import { DASHBOARD_ACTIONS, type DashboardAction, type OperationLine } from './contract.js';
import { type DashboardGrant, isAction, type ResolvedDashboardOptions } from './options.js';

const LISTED_MAX = 100;

/** What the viewer of one request may see and do. */
export class Rights {
  readonly who: string;
  readonly actions: readonly DashboardAction[];
  /** `null`: all. */
  readonly names: readonly string[] | null;
  /** `null`: all. */
  readonly groups: readonly string[] | null;

  /** @throws DelayConfigError when `authorize` returned something else */
  constructor({ who, actions, names, groups }: DashboardGrant) {
    if (typeof who !== 'string' || who.length < 1 || who.length > 255) {
      throw wrong('who', 'a text of 1 to 255 characters', who);
    }
    if (actions !== 'all' && !(Array.isArray(actions) && actions.every(isAction))) {
      throw wrong('actions', `'all' or a list of ${DASHBOARD_ACTIONS.join(', ')}`, actions);
    }
    this.who = who;
    this.actions = actions === 'all' ? DASHBOARD_ACTIONS : [...new Set(actions)];
    this.names = checkList('names', names);
    this.groups = checkList('groups', groups);
  }

  may(action: DashboardAction): boolean {
    return this.actions.includes('view') && this.actions.includes(action);
  }

  /** Sees nodes, health and the operations of others. */
  get seesAll(): boolean {
    return this.names === null && this.groups === null;
  }

  /** Its own, given with the limits that it has, or narrower ones. */
  ordered({ who, scope }: Pick<OperationLine, 'who' | 'scope'>): boolean {
    return (
      this.seesAll ||
      (who === this.who && isWithin(scope.names, this.names) && isWithin(scope.groups, this.groups))
    );
  }

  sees({ name, group }: { name: string; group: string | null }): boolean {
    return (
      (this.names?.includes(name) ?? true) &&
      (this.groups === null || (group !== null && this.groups.includes(group)))
    );
  }
}

const isWithin = (its: readonly string[] | null, all: readonly string[] | null): boolean =>
  all === null || (its?.every((one) => all.includes(one)) ?? false);

function checkList(field: string, given: unknown): readonly string[] | null {
  if (given === undefined) return null;
  const isList = Array.isArray(given) && given.length <= LISTED_MAX;
  if (isList && given.every((one) => typeof one === 'string' && one !== '')) return [...given];
  throw wrong(field, `a list of at most ${LISTED_MAX} texts`, given);
}

const wrong = (field: string, must: string, value: unknown): DelayConfigError =>
  new DelayConfigError(
    `DelayQueueDashboardModule: authorize: ${field}: must be ${must}, not ${shown(value)}`,
  );

/** @returns `undefined`: refused @throws what `authorize` throws; DelayConfigError */
export async function resolveRights(
  request: IncomingMessage,
  authorize: ResolvedDashboardOptions['authorize'],
): Promise<Rights | undefined> {
  const grant = await granted(request, authorize);
  if (grant === null || grant === undefined) return undefined;
  const rights = new Rights(grant);
  return rights.may('view') ? rights : undefined;
}

/** An exception of Nest that says so is a refusal, too. */
async function granted(
  request: IncomingMessage,
  authorize: ResolvedDashboardOptions['authorize'],
): Promise<DashboardGrant | null | undefined> {
  try {
    return await authorize(request);
  } catch (error) {
    if (error instanceof HttpException && [401, 403].includes(error.getStatus())) return null;
    throw error;
  }
}

import type { EntityManager } from 'typeorm';
import { DelayInvalidError } from '../../delay/delay.errors.js';
import { unheard } from '../../delay/adopted.js';
import { readable } from '../../validation/blame.js';
import { shown } from '../../validation/shown.js';

/** The manager of the transaction in whose context a call is made. */
export type Surrounding = () => EntityManager | undefined;

/**
 * @param resolve the application's answer, perhaps a manager without a transaction: libraries fall back to
 * `dataSource.manager` outside of one
 * @throws DelayInvalidError when that is no manager; and what it throws
 */
export function surroundingBy(resolve: (() => unknown) | undefined): Surrounding | undefined {
  if (resolve === undefined) return undefined;
  return () => {
    const answer = resolve();
    if (answer === undefined) return undefined;
    if (!readable('resolveManager', () => isManager(answer))) {
      unheard(answer);
      throw new DelayInvalidError(
        'resolveManager',
        `must answer an EntityManager or undefined, not ${shown(answer)}`,
      );
    }
    const manager = answer as EntityManager;
    return manager.queryRunner?.isTransactionActive ? manager : undefined;
  };
}

/** By TypeORM's own mark, not by class: an application may have a second copy of TypeORM. */
export function isManager(value: unknown): value is EntityManager {
  return (
    typeof value === 'object' &&
    value !== null &&
    Reflect.get(value, '@instanceof') === Symbol.for('EntityManager')
  );
}

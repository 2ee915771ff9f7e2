import { DelayInvalidError } from '../delay/delay.errors.js';
import { atStart } from '../validation/blame.js';
import { checkKnownOptions, readOptions } from '../validation/known-options.js';
import { shown } from '../validation/shown.js';

/** What stands beside the options of the queue: in `forRoot`, or beside the factory of `forRootAsync`. */
export const MODULE_EXTRAS = ['isGlobal', 'dataSource'];

/** How `forRootAsync` gets the options. */
const WAYS = ['useFactory', 'useClass', 'useExisting'];

const ASYNC_OPTIONS = [
  'imports',
  'inject',
  'provideInjectionTokensFrom',
  ...WAYS,
  ...MODULE_EXTRAS,
];

/**
 * What `forRoot` was given; the options of the queue are checked when it starts.
 *
 * @throws DelayConfigError naming the option
 */
export function checkModuleOptions(options: unknown): void {
  atStart('DelayQueueModule', () => checkIsGlobal(readOptions(options, 'options', MODULE_EXTRAS)));
}

/**
 * What `forRootAsync` was given.
 *
 * @throws DelayConfigError naming the option
 */
export function checkAsyncOptions(options: unknown): void {
  atStart('DelayQueueModule', () => {
    const given = checkKnownOptions(options, 'options', ASYNC_OPTIONS);
    checkIsGlobal(given);
    const [way, another] = WAYS.filter((each) => each in given);
    if (way === undefined || another !== undefined) {
      throw new DelayInvalidError(
        WAYS.join('|'),
        'say how the options are made, with exactly one of them',
      );
    }
    if (typeof given[way] === 'function') return;
    if (way === 'useExisting' && ['string', 'symbol'].includes(typeof given[way])) return;
    throw new DelayInvalidError(way, `must be a function or a class, not ${shown(given[way])}`);
  });
}

function checkIsGlobal({ isGlobal = true }: Record<string, unknown>): void {
  if (typeof isGlobal === 'boolean') return;
  throw new DelayInvalidError('isGlobal', `must be true or false, not ${shown(isGlobal)}`);
}

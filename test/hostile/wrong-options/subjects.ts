import { DelayQueueModule } from 'nestjs-delay-queue';
import { declarationOf } from '../../../src/delay-queue/handlers/declaration.js';
import { handlerSettings } from '../../../src/delay-queue/handlers/handler-settings.js';
import { resolveOptions } from '../../../src/delay-queue/options/resolve-options.js';
import { atStart } from '../../../src/delay-queue/validation/blame.js';
import { Declarations } from '../../../tools/api-tables/declarations.js';

/** An object of options, wherever it stands. */
export interface Subject {
  /** How the message calls what is in it. */
  path: string;
  /** Whose options they are, as the message begins. */
  where: string;
  /** All that it may have. */
  names: readonly string[];
  /** What the application does with them when it starts. */
  check: (options: unknown) => unknown;
  /** Without these the rest is not looked at. */
  beside?: object;
  /** Kinds of values that may stand in place of the object. */
  takesWhole?: readonly string[];
  /** Kinds of values that an option takes, which elsewhere are wrong. */
  takes?: Readonly<Record<string, readonly string[]>>;
}

const declarations = new Declarations();
const namesOf = (type: string): string[] => declarations.members(type).map(({ name }) => name);

const DEFAULTS = resolveOptions({ nodeName: 'a' });
const OF_MODULE = 'DelayQueueModule';
const OF_METHOD = 'Orders.close';

const onDelay = (options: unknown): unknown =>
  handlerSettings({ name: 'test.a', options }, OF_METHOD, DEFAULTS, () => {});
const onRepeat = (options: unknown): unknown =>
  atStart(OF_METHOD, () => declarationOf('test.a', options, DEFAULTS.payloads));

const TEXTS = ['an empty text', 'a text', 'a long text'];
const FUNCTIONS = ['a function'];
const OBJECTS = ['an empty object', 'an object'];
const JSON_KINDS = ['null', 'true', 'false', 'a negative number', ...TEXTS, ...OBJECTS];

const limitsIn = (option: string): Subject[] => [
  {
    path: option,
    where: OF_METHOD,
    names: namesOf('LimitOptions'),
    check: (given) => onDelay({ [option]: given }),
  },
  {
    path: `${option}.rateLimit`,
    where: OF_METHOD,
    names: ['max', 'per'],
    check: (given) => onDelay({ [option]: { rateLimit: given } }),
    beside: { max: 5, per: '1s' },
  },
];

/** Every object of options that is looked at when an application starts. */
export const SUBJECTS: readonly Subject[] = [
  {
    path: 'options',
    where: OF_MODULE,
    names: namesOf('DelayQueueOptions'),
    check: resolveOptions,
    takes: {
      worker: ['true', 'false'],
      nodeName: ['a text'],
      history: ['false', 'an empty object'],
      enhancers: ['false'],
      backoff: ['an empty object'],
      payloads: ['an empty object'],
      around: [...FUNCTIONS, 'an empty list'],
      resolveManager: FUNCTIONS,
    },
  },
  {
    path: 'options',
    where: OF_MODULE,
    names: namesOf('DelayQueueModuleExtras'),
    check: (options) => {
      const { providers = [] } = DelayQueueModule.forRoot(options as object);
      // What is not known beside the options is taken for one of them.
      const given = providers.find(
        (each) => 'provide' in each && each.provide === 'nestjs-delay-queue:given-options',
      );
      return resolveOptions((given as { useValue?: unknown } | undefined)?.useValue);
    },
    takes: {
      isGlobal: ['true', 'false'],
      dataSource: [...TEXTS, 'a symbol', ...FUNCTIONS],
    },
  },
  {
    path: 'backoff',
    where: OF_MODULE,
    names: namesOf('BackoffOptions'),
    check: (backoff) => resolveOptions({ backoff }),
  },
  {
    path: 'history',
    where: OF_MODULE,
    names: ['keep', 'attempts'],
    check: (history) => resolveOptions({ history }),
    takesWhole: ['false'],
    takes: { attempts: ['true', 'false'] },
  },
  {
    path: 'options',
    where: OF_METHOD,
    names: namesOf('OnDelayBatchOptions'),
    check: onDelay,
    takes: {
      transactional: ['true', 'false'],
      enhancers: ['false'],
      backoff: [...FUNCTIONS, 'an empty object'],
      around: [...FUNCTIONS, 'an empty list'],
    },
  },
  {
    path: 'backoff',
    where: OF_METHOD,
    names: namesOf('BackoffOptions'),
    check: (backoff) => onDelay({ backoff }),
    takesWhole: FUNCTIONS,
  },
  ...limitsIn('global'),
  ...limitsIn('perGroup'),
  {
    path: 'options',
    where: OF_METHOD,
    names: ['every', 'key', 'payload', 'catchUp'],
    check: onRepeat,
    beside: { every: '1h' },
    takes: {
      key: ['a text', 'a long text'],
      payload: [...JSON_KINDS, 'an empty list'],
    },
  },
  {
    path: 'options',
    where: OF_METHOD,
    names: ['cron', 'timeZone'],
    check: onRepeat,
    beside: { cron: '0 3 * * *' },
  },
  {
    path: 'options',
    where: OF_MODULE,
    names: ['useFactory', 'useClass', 'useExisting'],
    check: (options) => DelayQueueModule.forRootAsync(options as never),
    takes: {
      useFactory: FUNCTIONS,
      useClass: FUNCTIONS,
      useExisting: [...TEXTS, 'a symbol', ...FUNCTIONS],
    },
  },
];

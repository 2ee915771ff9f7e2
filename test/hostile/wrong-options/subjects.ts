import { DelayQueueModule } from 'nestjs-delay-queue';
import { Declarations } from '../../../tools/api-tables/declarations.js';
import {
  atStart,
  handlerSettings,
  parseDeclaration,
  resolveOptions,
} from '../../support/option-checks.js';

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
const OF_METHOD = 'Orders.close';

const subjectsOf =
  (where: string) =>
  (
    path: string,
    names: readonly string[],
    check: Subject['check'],
    more: Pick<Subject, 'beside' | 'takes' | 'takesWhole'> = {},
  ): Subject => ({ where, path, names, check, ...more });
const ofModule = subjectsOf('DelayQueueModule');
const ofMethod = subjectsOf(OF_METHOD);

const onDelay = (options: unknown): unknown =>
  handlerSettings({ name: 'test.a', options }, OF_METHOD, DEFAULTS, () => {});
const onRepeat = (options: unknown): unknown =>
  atStart(OF_METHOD, () => parseDeclaration('test.a', options, DEFAULTS.payloads));

/** Options of the module beside those of the queue; what is not known there is taken for one of these. */
function forRoot(options: unknown): unknown {
  const { providers = [] } = DelayQueueModule.forRoot(options as object);
  const given = providers.find(
    (each) => 'provide' in each && each.provide === 'nestjs-delay-queue:given-options',
  );
  return resolveOptions((given as { useValue?: unknown } | undefined)?.useValue);
}

const TEXTS = ['an empty text', 'a text', 'a long text'];
const FUNCTIONS = ['a function'];
const BOOLEANS = ['true', 'false'];
const OBJECTS = ['an empty object', 'an object', 'an empty list'];
const TOKENS = [...TEXTS, 'a symbol', ...FUNCTIONS];
const AROUND = [...FUNCTIONS, 'an empty list'];

const limitsIn = (option: string): Subject[] => [
  ofMethod(option, namesOf('LimitOptions'), (given) => onDelay({ [option]: given })),
  ofMethod(
    `${option}.rateLimit`,
    ['max', 'per'],
    (given) => onDelay({ [option]: { rateLimit: given } }),
    { beside: { max: 5, per: '1s' } },
  ),
];

/** Every object of options that is looked at when an application starts. */
export const SUBJECTS: readonly Subject[] = [
  ofModule('options', namesOf('DelayQueueOptions'), resolveOptions, {
    takes: {
      // Texts are refused without being shown.
      connection: [...TEXTS, 'an empty object', 'an object'],
      worker: BOOLEANS,
      autorun: BOOLEANS,
      nodeName: ['a text'],
      deployment: ['a long text'],
      idleFor: ['false'],
      history: ['false', 'an empty object'],
      enhancers: ['false'],
      backoff: ['an empty object'],
      payloads: ['an empty object'],
      around: AROUND,
      resolveManager: FUNCTIONS,
    },
  }),
  ofModule('options', namesOf('DelayQueueModuleExtras'), forRoot, {
    takes: { isGlobal: BOOLEANS, dataSource: TOKENS },
  }),
  ofModule('backoff', namesOf('BackoffOptions'), (backoff) => resolveOptions({ backoff })),
  ofModule('history', ['keep', 'attempts'], (history) => resolveOptions({ history }), {
    takesWhole: ['false'],
    takes: { attempts: BOOLEANS },
  }),
  ofMethod('options', namesOf('OnDelayBatchOptions'), onDelay, {
    takes: {
      transactional: BOOLEANS,
      enhancers: ['false'],
      backoff: [...FUNCTIONS, 'an empty object'],
      around: AROUND,
      // Lists are refused by their length.
      queue: ['an empty list'],
    },
  }),
  ofMethod('backoff', namesOf('BackoffOptions'), (backoff) => onDelay({ backoff }), {
    takesWhole: FUNCTIONS,
  }),
  ...limitsIn('global'),
  ...limitsIn('perGroup'),
  ofMethod('options', ['every', 'key', 'payload', 'catchUp'], onRepeat, {
    beside: { every: '1h' },
    takes: {
      key: ['a text', 'a long text'],
      payload: ['null', 'a negative number', ...BOOLEANS, ...TEXTS, ...OBJECTS],
    },
  }),
  ofMethod('options', ['cron', 'timeZone'], onRepeat, { beside: { cron: '0 3 * * *' } }),
  ofModule(
    'options',
    ['useFactory', 'useClass', 'useExisting'],
    (options) => DelayQueueModule.forRootAsync(options as never),
    { takes: { useFactory: FUNCTIONS, useClass: FUNCTIONS, useExisting: TOKENS } },
  ),
];

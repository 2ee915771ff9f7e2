import { expect, it } from '@jest/globals';
import {
  type DelayBatchContext,
  DelayHealth,
  type Delay,
  OnDelay,
  PostponeDelay,
  runMigrations,
  WheelService,
} from 'nestjs-delay-queue';
import { join } from 'node:path';
import ts from 'typescript';
import { Declarations, ROOT } from '../../tools/api-tables/declarations.js';
import { commandLine } from '../integration/command-line/support/command-line.js';
import { TestedNode } from '../integration/testing/support/tested.js';
import { WRONG_DATES, WRONG_DURATIONS, WRONG_INSTANTS, ZEROS } from './corpus/two-readings.js';
import {
  type CommandName,
  COMMANDS,
  type Option,
  type OptionName,
  OPTIONS,
} from '../support/command-line.js';
import {
  atStart,
  handlerSettings,
  parseDeclaration,
  resolveOptions,
} from '../support/option-checks.js';
import {
  checkSearchFilter,
  parseOrder,
  Rights,
  SEARCH_FIELDS,
  visibleSelection,
} from '../support/dashboard-parts.js';
import { toOutcome } from '../support/engine-parts.js';

/**
 * Every door that takes a duration or an instant is tried with what has two readings. The doors are found in the
 * declarations, so that a new one is tried as well.
 */
type Door = (value: unknown) => unknown;

/** What a batch's handler does. */
let batchDoes: (delay: Delay, ctx: DelayBatchContext) => void = () => {};

class Batches {
  @OnDelay('test.batch', { batch: 10 })
  run([first]: Delay[], ctx: DelayBatchContext): void {
    batchDoes(first!, ctx);
  }
}

let wheel: WheelService;
let health: DelayHealth;
const services = {
  provide: 'services',
  inject: [WheelService, DelayHealth],
  useFactory: (...of: [WheelService, DelayHealth]) => ([wheel, health] = of),
};

const node = new TestedNode({ 'test.a': {} }, { providers: [Batches, services] });
const rights = new Rights({ who: 'a', actions: 'all' });
const DEFAULTS = resolveOptions({ nodeName: 'a' });
const SLOT = ['test.a', 'kept'] as const;

const schedules =
  (field: string, more: object = {}): Door =>
  (value) =>
    node.delays.schedule('test.a', { n: 1 }, { key: 'k', ...more, [field]: value } as never);
const moves =
  (field: string): Door =>
  (value) =>
    node.delays.reschedule(...SLOT, { [field]: value } as never);
const filters =
  (field: string): Door =>
  (value) =>
    node.admin.cancel({ [field]: value } as never);
const resolves =
  (field: string): Door =>
  (value) =>
    resolveOptions({ [field]: value });
const handles =
  (make: (value: unknown) => object): Door =>
  (value) =>
    handlerSettings({ name: 'test.b', options: make(value) }, 'A.b', DEFAULTS, () => {});
const recurs: Door = (value) => schedules('repeat')({ every: value });
const recursUntil: Door = (until) => schedules('repeat')({ every: '1h', until });
const judges =
  (field: string): Door =>
  (value) =>
    health.check({ [field]: value });

/** What one attempt was answered. */
const postponed = new Map<unknown, unknown>();

async function postpones(value: unknown): Promise<void> {
  batchDoes = (delay, ctx) => {
    for (const after of WRONG_DURATIONS) {
      try {
        ctx.postpone(delay, after as string);
      } catch (error) {
        postponed.set(after, error);
      }
    }
  };
  if (postponed.size === 0) {
    await node.delays.schedule('test.batch', null, { after: 0 });
    await node.testing.drain();
  }
  if (postponed.has(value)) throw postponed.get(value);
}

/** In TypeScript: what the package exports, as `type.member` or `class.method(parameter)`. */
const CALLS: Readonly<Record<string, Door>> = {
  'When.after': schedules('after'),
  'When.at': schedules('at'),
  'Due.after': schedules('after'),
  'Due.at': schedules('at'),
  'Recurring.after': schedules('after', { repeat: { every: '1h' } }),
  'Recurring.at': schedules('at', { repeat: { every: '1h' } }),
  'RescheduleTo.after': moves('after'),
  'RescheduleTo.at': moves('at'),
  'RescheduleTo.extendBy': moves('extendBy'),
  'ScheduleOptions.maxWait': schedules('maxWait', { after: 0 }),
  'RepeatInterval.every': recurs,
  'RepeatRule.every': recurs,
  'RepeatOptions.every': recurs,
  'RepeatOptions.until': recursUntil,
  'RepeatEnd.until': recursUntil,
  'RepeatDelayOptions.every': (value) =>
    atStart('A.b', () => parseDeclaration('test.b', { every: value }, DEFAULTS.payloads)),
  'DelayBatchContext.postpone': postpones,
  'TransactionalDelayBatchContext.postpone': postpones,
  'PostponeDelay(after)': (value) => {
    const outcome = toOutcome(new PostponeDelay(value as string), undefined);
    if (outcome.kind === 'failed') throw outcome.error;
  },
  'CancelOptions.abortWithin': (value) =>
    node.delays.cancel(...SLOT, { running: 'abort', abortWithin: value } as never),
  'AbortMatchingOptions.abortWithin': (value) =>
    node.admin.cancel({ name: 'test.a' }, { running: 'abort', abortWithin: value } as never),
  ...Object.fromEntries(
    ['DelayQueueOptions', 'DelayQueueModuleOptions'].flatMap((type) =>
      ['timeout', 'lease', 'horizon', 'loadEvery', 'idleFor', 'drainTimeout'].map((field) => [
        `${type}.${field}`,
        resolves(field),
      ]),
    ),
  ),
  'DelayHistoryOptions.keep': (keep) => resolveOptions({ history: { keep } }),
  'DelayHistoryOptions.names': (time) => resolveOptions({ history: { names: { 'a.b': time } } }),
  'BackoffOptions.base': (value) => resolves('backoff')({ base: value }),
  'BackoffOptions.max': (value) => resolves('backoff')({ max: value }),
  'OnDelayOptions.timeout': handles((timeout) => ({ timeout })),
  'OnDelayBatchOptions.timeout': handles((timeout) => ({ timeout, batch: 10 })),
  'LimitOptions.rateLimit': handles((per) => ({ global: { rateLimit: { max: 1, per } } })),
  'DelayFilter.dueFrom': filters('dueFrom'),
  'DelayFilter.dueBefore': filters('dueBefore'),
  'HistoryFilter.endedFrom': (value) => node.admin.history({ endedFrom: value } as never),
  'HistoryFilter.endedBefore': (value) => node.admin.history({ endedBefore: value } as never),
  'PauseOptions.for': (value) => node.admin.pause('test.a', { for: value } as never),
  'PauseOptions.until': (value) => node.admin.pause('test.a', { until: value } as never),
  'HealthOptions.lateAfter': judges('lateAfter'),
  'HealthOptions.heldAfter': judges('heldAfter'),
  'HealthOptions.snapshotAfter': judges('snapshotAfter'),
  'runMigrations(options)': (value) => runMigrations(node.dataSource, { wait: value } as never),
  'WheelService.after(ms)': (value) => wheel.cancel(wheel.after(value as number, () => {})),
  'ClearOptions.now': (value) => node.testing.clear({ now: value } as never),
  'ExpectedDelay.dueIn': (value) =>
    node.testing.expectScheduled(...SLOT, { dueIn: value } as never),
  'ExpectedDelay.within': (value) =>
    node.testing.expectScheduled(...SLOT, { within: value } as never),
  'DelayTesting.advance(span)': (value) => node.testing.advance(value as string),
  'DelayTesting.advanceTo(instant)': (value) => node.testing.advanceTo(value as Date),
};

/** What the package answers. */
const ANSWERS =
  /^(?:Delay|DelayInfo|DelayRepeat|ListedDelay|DelayRecord|Delay(?:Attempt|Move|Wait|Pause|Explanation(?:Cause)?)|NodeStats|StubScheduled|DelayRun|\w+(?:Result|Event|Message))\./;

/** Of the declarations: where a duration or an instant is taken, and which of both. */
function doorsIn(declarations: Declarations): { door: string; isDuration: boolean }[] {
  const doors: { door: string; isDuration: boolean }[] = [];
  const add = (door: string, type: ts.Node | undefined): void => {
    const text = type?.getText() ?? '';
    const isDuration = /\bDuration\b/.test(text);
    if (type?.kind === ts.SyntaxKind.FunctionType && !isDuration) return;
    if ((isDuration || /\bDate\b/.test(text)) && !ANSWERS.test(door))
      doors.push({ door, isDuration });
  };
  const addParameters = (of: string, { parameters }: ts.SignatureDeclarationBase): void =>
    parameters.forEach(({ name, type }) => add(`${of}(${name.getText()})`, type));
  for (const [name, declared] of declarations.exported) {
    if (ts.isFunctionDeclaration(declared)) addParameters(name, declared);
    if (ts.isClassDeclaration(declared)) {
      for (const member of declared.members) {
        if (ts.isConstructorDeclaration(member)) addParameters(name, member);
        if (ts.isMethodDeclaration(member))
          addParameters(`${name}.${member.name.getText()}`, member);
      }
    }
    for (const member of declarations.membersOf(declared))
      add(`${name}.${member.name}`, member.type);
  }
  return doors;
}

/** As a JavaScript caller meets it: thrown at once, or by the promise. */
async function answerOf(door: Door, value: unknown): Promise<string> {
  try {
    await door(value);
    return 'accepted';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const isOurs = code === 'DELAY_INVALID' || code === 'DELAY_CONFIG';
    return isOurs && message.length > 20 ? 'refused' : `another error: ${message}`;
  }
}

async function acceptedBy(door: Door, values: readonly unknown[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const value of values) {
    const answer = await answerOf(door, value);
    if (answer !== 'refused') found.push([value, answer]);
  }
  return found;
}

const rows = () =>
  node.sql(
    `SELECT (SELECT json_agg(d) FROM delay_queue.delay d)::text AS delays, (SELECT count(*) FROM delay_queue.pause) AS pauses`,
  );

/** One that waits, and is as it was afterwards. */
async function changesNothing(act: () => Promise<void>): Promise<void> {
  await node.delays.schedule(SLOT[0], { n: 1 }, { after: '30d', key: SLOT[1] });
  const before = await rows();
  await act();
  expect(await rows()).toEqual(before);
}

const doors = doorsIn(new Declarations());

it('every door of the declarations is tried', () => {
  expect(Object.keys(CALLS).toSorted()).toEqual(doors.map(({ door }) => door).toSorted());
});

it.each(doors)('$door', ({ door, isDuration }) =>
  changesNothing(async () => {
    expect(await acceptedBy(CALLS[door]!, isDuration ? WRONG_DURATIONS : WRONG_DATES)).toEqual([]);
  }),
);

it.each([
  'RescheduleTo.extendBy',
  'PauseOptions.for',
  'DelayHistoryOptions.keep',
  'DelayHistoryOptions.names',
])('%s of nothing', (door) =>
  changesNothing(async () => expect(await acceptedBy(CALLS[door]!, ZEROS)).toEqual([])),
);

it('a pause until an instant that has passed', () =>
  changesNothing(async () => {
    const past = [new Date(0), new Date('2001-01-01')];
    expect(await acceptedBy(CALLS['PauseOptions.until']!, past)).toEqual([]);
  }));

it('what has one reading is taken', async () => {
  for (const after of [
    0,
    '0',
    '5m',
    '5 minutes',
    '.5h',
    '1.5 hrs',
    '2w',
    '20000d',
    1_814_400_000,
  ]) {
    expect(await answerOf(schedules('after'), after)).toBe('accepted');
  }
  for (const at of [new Date(0), new Date('1999-12-31'), new Date('9999-12-31T23:59:59.999Z')]) {
    expect(await answerOf(schedules('at'), at)).toBe('accepted');
  }
});

/** Where nothing listens: what is refused is refused before that matters. */
const NOWHERE = 'postgres://127.0.0.1:1/none';

/** A line of the command line without that option. */
const LINES: Partial<Record<CommandName, readonly string[]>> = {
  cancel: ['test.a', 'k', '--abort'],
  reschedule: ['test.a', 'k'],
  explain: ['test.a', 'k'],
  story: ['k'],
  pause: ['test.a'],
};

const optionsOf = (
  command: CommandName,
): { command: CommandName; option: OptionName; kind: string }[] => {
  const { options, its = {} } = COMMANDS[command];
  return options.flatMap((option) => {
    const kind = ((its[option] ?? OPTIONS[option]) as Option).value;
    return kind === 'DURATION' || kind === 'INSTANT' ? [{ command, option, kind }] : [];
  });
};

it.each((Object.keys(COMMANDS) as CommandName[]).flatMap(optionsOf))(
  '$command --$option',
  async ({ command, option, kind }) => {
    const isFilter = option.startsWith('due-');
    const line = [
      command,
      ...(isFilter ? [] : (LINES[command] ?? [])),
      ...(isFilter && command === 'reschedule' ? ['--after', '1h'] : []),
    ];
    const wrong = [
      ...(kind === 'DURATION' ? WRONG_DURATIONS : WRONG_INSTANTS),
      ...(option === 'for' || option === 'extend-by' ? ZEROS : []),
    ].filter((value) => typeof value === 'string');
    for (const value of wrong) {
      const ran = await commandLine(NOWHERE, [...line, `--${option}=${value}`]);
      expect([value, ran.exitCode, ran.err]).toEqual([
        value,
        2,
        expect.stringContaining(`--${option}`),
      ]);
    }
  },
);

/** The dashboard's bodies and addresses. */
const FIELDS: Readonly<Record<string, Door>> = {
  ...Object.fromEntries(
    ['dueFrom', 'dueBefore', 'endedFrom', 'endedBefore'].map((field) => [
      `SearchFilter.${field}: Instant`,
      (value: unknown) => visibleSelection(checkSearchFilter({ [field]: value }), rights),
    ]),
  ),
  ...Object.fromEntries(
    ['at: Instant', 'after: string', 'extendBy: string'].map((member) => [
      `reschedule.to.${member}`,
      (value: unknown) =>
        parseOrder(
          { action: 'reschedule', which: { ids: ['1'] }, to: { [member.split(':')[0]!]: value } },
          rights,
        ),
    ]),
  ),
  ...Object.fromEntries(
    ['at: Instant', 'after: string'].map((member) => [
      `create.${member}`,
      (value: unknown) =>
        parseOrder(
          { action: 'create', name: 'test.a', payload: 'null', [member.split(':')[0]!]: value },
          rights,
        ),
    ]),
  ),
  'pause.for: string': (value) =>
    parseOrder({ action: 'pause', name: 'test.a', for: value }, rights),
};

const count = (of: string): number => of.match(/\??: Instant\b/g)?.length ?? 0;

it('every instant of the dashboard is tried', () => {
  const contract = join(ROOT, 'src/delay-queue/dashboard/contract.ts');
  const text = ts.sys.readFile(contract)!;
  const filter = Object.values(SEARCH_FIELDS).filter(({ kind }) => kind === 'instant');
  const order = text.slice(text.indexOf('export type OperationOrder'));
  const members = Object.keys(FIELDS).filter((field) => field.endsWith(': Instant'));
  expect(members).toHaveLength(filter.length + count(order.slice(0, order.indexOf(');'))));
});

it.each(Object.entries(FIELDS))('the dashboard: %s', async (field, door) => {
  const isInstant = field.endsWith(': Instant');
  const wrong = isInstant
    ? WRONG_INSTANTS
    : [...WRONG_DURATIONS, ...(/for|extendBy/.test(field) ? ZEROS : [])];
  expect(await acceptedBy(door, wrong)).toEqual([]);
});

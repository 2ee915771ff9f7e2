/** An application whose functions answer oddly, one after the other, beside a neighbour who does nothing odd. */
import 'reflect-metadata';
import {
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  Logger,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import {
  type Delay,
  type DelayBatchContext,
  delayCallOf,
  type DelayEventMap,
  type DelayQueueOptions,
  type OnDelayOptions,
  OnDeadDelay,
  OnDelay,
  OnDelayEvent,
  type PayloadSchema,
} from 'nestjs-delay-queue';
import { plainHandler, type Signal, signal, startNode } from '../../support/delay-node.js';
import '../../support/delay-payloads.js';
import { ANSWERS, type OddAnswer, RESULTS, THROWN } from '../corpus/answers.js';
import type { WalkedFunction, WalkMessage, WalkOrder } from './walk.protocol.js';

type Name = `test.${string}`;

/** What never ends is cut; anything else is not, on however busy a machine. */
const PATIENT = { timeout: '60s', maxAttempts: 1 } as const;
const SHORT = { timeout: '500ms', maxAttempts: 1 } as const;

const nameOf = (walked: WalkedFunction, { ends }: Pick<OddAnswer, 'ends'>): Name =>
  `test.${walked.replaceAll(/[^a-zA-Z]/g, '-')}${ends === 'never' ? '.never' : ''}`;
const isOf = (name: string, walked: WalkedFunction): boolean =>
  name === nameOf(walked, { ends: 'right' }) || name === nameOf(walked, { ends: 'never' });

/** What the delay of that key is to meet. */
const odd = (key: string | null, right: unknown): unknown => ANSWERS[key ?? '']?.answer(right);

/** Keys that were met once. */
const met = new Set<string>();
function isFirst(walked: WalkedFunction, key: string | null): boolean {
  const id = `${walked} ${key}`;
  return !met.has(id) && met.add(id) !== undefined;
}

const schemaOf = (validate: (payload: string) => unknown): PayloadSchema<never> => ({
  '~standard': { version: 1, vendor: 'odd', validate: validate as never },
});

/** The first time it is asked by `schedule`, then before the call. */
const schemaAsked = (
  walked: WalkedFunction,
  isOdd: 'first' | 'later',
  answer: (payload: string) => unknown,
): PayloadSchema<never> =>
  schemaOf((payload) =>
    isFirst(walked, payload) === (isOdd === 'first') ? answer(payload) : { value: payload },
  );

type Handle = (delay: Delay<Name>, ctx: object) => unknown;

const nothing: Handle = () => undefined;
const oddly: Handle = (delay) => odd(delay.key, undefined);

/** Two handlers, for what ends and for what does not. */
function handlersOf(
  walked: WalkedFunction,
  handle: Handle,
  options: OnDelayOptions = {},
): object[] {
  return [PATIENT, SHORT].map((base) => {
    class Handler {
      @OnDelay(nameOf(walked, { ends: base === SHORT ? 'never' : 'right' }), {
        ...base,
        ...options,
      } as object)
      on(delay: Delay<Name>, ctx: object): void {
        return handle(delay, ctx) as void;
      }
    }
    return Handler;
  });
}

/** The same with something of Nest's at its class. */
function enhanced(walked: WalkedFunction, decorate: ClassDecorator, handle = nothing): object[] {
  const classes = handlersOf(walked, handle, { enhancers: 'own' });
  for (const each of classes) decorate(each as never);
  return classes;
}

const keyOf = (context: ExecutionContext): string | null =>
  delayCallOf(context)?.delays[0].key ?? null;

const guard: CanActivate = { canActivate: (context) => odd(keyOf(context), true) as boolean };
const interceptor: NestInterceptor = {
  intercept: (context, next) => odd(keyOf(context), next.handle()) as never,
};
const pipe: PipeTransform = { transform: (payload) => odd(payload as string, payload) };
@Catch()
class Filter implements ExceptionFilter {
  catch(_: unknown, host: ExecutionContext): unknown {
    return odd(keyOf(host), undefined);
  }
}

const fails: Handle = () => {
  throw new Error('so that its filter is asked');
};

const failsOnce =
  (walked: WalkedFunction): Handle =>
  (delay) => {
    if (isFirst(walked, delay.key)) throw new Error('so that its backoff is asked');
  };

class Batch {
  @OnDelay(nameOf('batch handler', { ends: 'right' }), { ...PATIENT, batch: 1 })
  on(delays: Delay<Name>[]): void {
    return odd(delays[0]!.key, undefined) as void;
  }

  @OnDelay(nameOf('batch handler', { ends: 'never' }), { ...SHORT, batch: 1 })
  never(delays: Delay<Name>[]): void {
    return odd(delays[0]!.key, undefined) as void;
  }

  @OnDelay(nameOf('ctx.fail', { ends: 'right' }), { ...PATIENT, batch: 1 })
  fail(delays: Delay<Name>[], ctx: DelayBatchContext): void {
    for (const delay of delays) ctx.fail(delay, THROWN[delay.key!]!());
  }
}

class Dead {
  @OnDeadDelay(nameOf('@OnDeadDelay', { ends: 'right' }))
  on({ key }: Delay<Name>): void {
    return (isFirst('@OnDeadDelay', key) ? odd(key, undefined) : undefined) as void;
  }
}

class Listener {
  @OnDelayEvent('completed')
  on({ name, key }: DelayEventMap['completed'][0]): void {
    return (isOf(name, '@OnDelayEvent') ? odd(key, undefined) : undefined) as void;
  }
}

/** Set while a call is made about that key. */
let resolving: string | undefined;

/** Nobody tells a backoff of which delay it is asked. */
const backoffs = Object.values(ANSWERS).values();

const options: DelayQueueOptions = {
  concurrency: 200,
  backoff: { base: 1, max: 1 },
  resolveManager: () => odd(resolving ?? null, {}) as undefined,
  codec: {
    encode: (json, { name, key }) =>
      isOf(name, 'codec.encode') ? (odd(key, json) as string) : json,
    decode: (text, { name, key }) =>
      isOf(name, 'codec.decode') ? (odd(key, text) as string) : text,
  },
};

const results = (payload: string): unknown => RESULTS[payload]?.();
const asked = (payload: string): unknown => odd(payload, { value: payload });

const providers = [
  ...handlersOf('codec.encode', nothing),
  ...handlersOf('codec.decode', nothing),
  ...handlersOf('schema at schedule', nothing, {
    payload: schemaAsked('schema at schedule', 'first', asked),
  }),
  ...handlersOf('schema before a call', nothing, {
    payload: schemaAsked('schema before a call', 'later', asked),
  }),
  ...handlersOf('schema result at schedule', nothing, {
    payload: schemaAsked('schema result at schedule', 'first', results),
  }),
  ...handlersOf('schema result before a call', nothing, {
    payload: schemaAsked('schema result before a call', 'later', results),
  }),
  ...handlersOf('plain handler', oddly),
  ...handlersOf('transactional handler', oddly, { transactional: true }),
  ...handlersOf('around', nothing, {
    around: (call, next) => {
      void next();
      return odd(call.delays[0].key, undefined) as Promise<void>;
    },
  }),
  ...enhanced('guard', UseGuards(guard)),
  ...enhanced('interceptor', UseInterceptors(interceptor)),
  ...enhanced('pipe', UsePipes(pipe)),
  ...enhanced('filter', UseFilters(new Filter()), fails),
  ...handlersOf('backoff', failsOnce('backoff'), {
    maxAttempts: 2,
    backoff: () => backoffs.next().value?.answer(1) as number,
  }),
  ...handlersOf('listener', nothing),
  ...handlersOf('@OnDelayEvent', nothing),
  ...handlersOf('@OnDeadDelay', fails),
  ...handlersOf('resolveManager', nothing),
  ...handlersOf('onProgress', nothing),
  ...handlersOf('volatile timer', nothing),
  Batch,
  Dead,
  Listener,
];

const url = process.env['WALKED_DATABASE'] ?? '';
const good = plainHandler('test.good', () => {});
const node = await startNode({ url, providers: [...(providers as Provider[]), good], options });

/** A logger of a user's is odd, too. */
const boom = (): never => {
  throw new Error('the logger is broken');
};
Logger.overrideLogger({ log: boom, warn: boom, error: boom, debug: boom, verbose: boom });

/** How the attempts of delays have ended, and who waits for that. */
const ends = new Map<string, Signal<string>>();
function endOf(name: string, key: string | null): Signal<string> {
  const id = `${name} ${key}`;
  const end = ends.get(id) ?? signal<string>();
  ends.set(id, end);
  return end;
}
for (const event of ['completed', 'dead'] as const) {
  node.events.on(event, ({ name, key }) => endOf(name, key).resolve(event));
}
node.events.on('completed', ({ name, key }) =>
  isOf(name, 'listener') ? odd(key, undefined) : undefined,
);

let neighbours = 0;
async function neighbourRuns(): Promise<void> {
  const keys = [1, 2, 3].map(() => String(++neighbours));
  await Promise.all(
    keys.map(async (key) => {
      await node.delays.schedule('test.good', 1, { after: 0, key });
      await endOf('test.good', key).promise;
    }),
  );
}

/** A call that has no answer although its neighbours have theirs. */
const orPending = <Value>(call: Promise<Value>): Promise<Value | 'pending'> =>
  Promise.race([call, neighbourRuns().then(() => 'pending' as const)]);

const CODES = ['DELAY_CODEC', 'DELAY_INVALID'];
const refusalOf = (walked: WalkedFunction) => (error: unknown) => {
  if (!walked.startsWith('codec') && !walked.startsWith('schema result')) return 'refused';
  const code = error instanceof Error ? String(Reflect.get(error, 'code')) : 'no error';
  return CODES.includes(code) ? 'refused' : `refused: ${code}`;
};

async function scheduled(walked: WalkedFunction, key: string, name: Name): Promise<string> {
  if (walked === 'resolveManager') resolving = key;
  const call = node.delays
    .schedule(name, key, { after: 0, key })
    .then(() => 'scheduled', refusalOf(walked));
  resolving = undefined;
  const answer = AT_SCHEDULE.has(walked) && name.endsWith('.never') ? orPending(call) : call;
  const verdict = await answer;
  return verdict === 'scheduled' ? await endOf(name, key).promise : verdict;
}

async function progressed(key: string): Promise<string> {
  const onProgress = (): void => odd(key, undefined) as void;
  const call = node.admin
    .cancel({ name: nameOf('onProgress', { ends: 'right' }) }, { onProgress })
    .then(
      () => 'completed',
      () => 'refused',
    );
  return ANSWERS[key]?.ends === 'never' ? orPending(call) : call;
}

async function timed(key: string): Promise<string> {
  const neighbour = signal<string>();
  node.wheel.after(5, () => odd(key, undefined) as void);
  node.wheel.after(5, () => neighbour.resolve('completed'));
  return neighbour.promise;
}

const AT_SCHEDULE = new Set<WalkedFunction>([
  'codec.encode',
  'schema at schedule',
  'schema result at schedule',
  'resolveManager',
  'onProgress',
]);

/** What becomes of all, whatever they are. */
const ALWAYS: Partial<Record<WalkedFunction, string>> = {
  filter: 'dead',
  backoff: 'completed',
  listener: 'completed',
  '@OnDelayEvent': 'completed',
  '@OnDeadDelay': 'dead',
  resolveManager: 'refused',
  'volatile timer': 'completed',
};

function shouldBe(walked: WalkedFunction, end: OddAnswer['ends']): string {
  const always = ALWAYS[walked];
  if (always !== undefined) return always;
  if (end === 'right') return 'completed';
  if (!AT_SCHEDULE.has(walked)) return 'dead';
  return end === 'never' ? 'pending' : 'refused';
}

/** By what they do, what of it comes in the end. */
function casesOf(walked: WalkedFunction): [what: string, ends: OddAnswer['ends']][] {
  if (walked.startsWith('schema result'))
    return Object.keys(RESULTS).map((what) => [what, 'wrong']);
  if (walked === 'ctx.fail') return Object.keys(THROWN).map((what) => [what, 'wrong']);
  return Object.entries(ANSWERS).map(([what, { ends: end }]) => [what, end]);
}

async function walk(walked: WalkedFunction): Promise<WalkMessage['differs']> {
  const differs: NonNullable<WalkMessage['differs']> = {};
  await Promise.all(
    casesOf(walked).map(async ([what, end]) => {
      const name = nameOf(walked, { ends: end });
      let is: string;
      if (walked === 'onProgress') is = await progressed(what);
      else if (walked === 'volatile timer') is = await timed(what);
      else is = await scheduled(walked, what, name);
      const expected = shouldBe(walked, end);
      if (is !== expected) differs[what] = { is, shouldBe: expected };
    }),
  );
  await neighbourRuns();
  return differs;
}

const tell = (message: WalkMessage): void => void process.send?.(message);

process.on('message', (order: WalkOrder) => {
  const { walk: walked } = order;
  if (walked !== undefined)
    void walk(walked).then((differs) => tell({ walked, differs: differs! }));
  else void node.stop().then(() => process.disconnect());
});
tell({ ready: true });

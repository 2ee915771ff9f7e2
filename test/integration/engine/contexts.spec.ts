import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DelayHealth, DelayWorker } from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { clientTelling } from '../../support/sent-statements.js';
import { stageOfEach } from './support/stage-of-each.js';

/** An application's own, as an agent has it. */
const request = new AsyncLocalStorage<string>();

/** What the engine did in a context that is not its own. */
const lent = new Set<string>();
let node: DelayNode;

const stage = stageOfEach();

const look = (what: string): void => {
  const store = request.getStore();
  if (store !== undefined) lent.add(`${what} in ${store}`);
};

const isEngines = (client: object): boolean => {
  const { connectionParameters: of } = client as {
    connectionParameters: { application_name?: string };
  };
  return of.application_name?.startsWith('delay-queue') === true;
};

const Telling = clientTelling((text, client) => {
  if (isEngines(client)) look(text.trim().slice(0, 40));
  if (text.startsWith('START TRANSACTION; EXECUTE')) look('the begin of an attempt');
});

class Client extends Telling {
  /** What its socket reports comes in this context. */
  override connect(...given: unknown[]): never {
    if (isEngines(this)) look('a connection');
    const connect: (...all: unknown[]) => unknown = super.connect.bind(this);
    return connect(...given) as never;
  }
}

const STARTS = ['claim', 'complete', 'load', 'scan', 'attempt'].map(
  (name) => `tracing:nestjs-delay-queue:${name}:start`,
);
const LOADED = 'tracing:nestjs-delay-queue:load:asyncEnd';

let loaded = signal();
const hears = {
  start: (_: unknown, channel: string | symbol): void => look(String(channel)),
  loaded: (): void => {
    loaded.resolve();
    enterIf('a subscriber');
  },
};

/** Who enters a context that is not left. */
let entering: string | undefined;

const enterIf = (by: string): void => {
  if (entering === by) request.enterWith(by);
};

const [PLAIN, ASYNC, FENCED, HELD] = [
  'test.plain',
  'test.async',
  'test.fenced',
  'test.held',
] as const;
const NAMES = [PLAIN, ASYNC, FENCED];
const ENTERING = [...NAMES, 'an around', 'a listener', 'a subscriber'];
const FEW = { concurrency: 2 };

const handled = (name: string): void => {
  look(name);
  enterIf(name);
};

let held = signal();

const providers = [
  plainHandler(PLAIN, () => handled(PLAIN), FEW),
  plainHandler(ASYNC, async () => handled(ASYNC), FEW),
  fencedHandler(FENCED, async () => handled(FENCED), FEW),
  plainHandler(HELD, async (_, ctx) => {
    ctx.signal.addEventListener('abort', () => held.reject(ctx.signal.reason));
    await held.promise;
  }),
];

const around = async (_: unknown, next: () => Promise<void>): Promise<void> => {
  enterIf('an around');
  await next();
};

beforeEach(async () => {
  for (const channel of STARTS) diagnostics.subscribe(channel, hears.start);
  diagnostics.subscribe(LOADED, hears.loaded);
  const options = { loadEvery: '100ms', horizon: '1s', around: [around] } as const;
  node = await request.run('the start', () => stage.start({ Client, options, providers }));
  node.events.on('completed', () => enterIf('a listener'));
});

afterEach(() => {
  for (const channel of STARTS) diagnostics.unsubscribe(channel, hears.start);
  diagnostics.unsubscribe(LOADED, hears.loaded);
});

/** Of each name some are due now, of which a few wait for a slot, and some later; then a load. */
async function work(): Promise<void> {
  for (const after of [0, 30]) {
    const some = NAMES.flatMap((name) =>
      Array.from({ length: 5 }, () => ({ name, payload: null, after }) as const),
    );
    await node.delays.scheduleMany(some);
  }
  await stage.noneLeft();
  for (let loads = 0; loads < 2; loads += 1) {
    loaded = signal();
    await loaded.promise;
  }
}

const ofHeld = { key: 'k', after: 0 };

async function begin(): Promise<void> {
  held = signal();
  const started = node.next('started', ({ name }) => name === HELD);
  await node.delays.schedule(HELD, null, ofHeld);
  await started;
}

const CALLS: Record<string, () => Promise<unknown>> = {
  'a schedule': () => node.delays.schedule(PLAIN, null, { after: 0 }),
  'a later schedule': () => node.delays.schedule(PLAIN, null, { after: 40 }),
  'a schedule in a transaction': () =>
    node.dataSource.transaction((manager) =>
      node.delays.schedule(FENCED, null, { after: 0, manager }),
    ),
  'a rerun': async () => {
    await begin();
    await node.delays.schedule(HELD, null, { ...ofHeld, running: 'rerun' });
    held.resolve();
  },
  'a cancel': async () => {
    await begin();
    await node.delays.cancel(HELD, ofHeld.key, { running: 'abort' });
  },
  'a pause': async () => {
    await node.admin.pause(PLAIN);
    await node.delays.schedule(PLAIN, null, { after: 0 });
    await node.admin.resume(PLAIN);
  },
  'a health check': () => node.app.get(DelayHealth).check(),
  'a run of the worker': async () => {
    await node.app.get(DelayWorker).stop();
    await node.app.get(DelayWorker).run();
  },
  'a volatile timer': () => new Promise<void>((resolve) => void node.wheel.after(5, resolve)),
};

it('the engine works in no context of its start, of a call, of what it calls, or of its end', async () => {
  for (const [name, call] of Object.entries(CALLS)) await request.run(name, call);
  await work();
  for (entering of ENTERING) await work();
  await request.run('the end', () => node.stop());
  // What an `around` enters is for the handler.
  expect([...lent].toSorted()).toEqual(NAMES.map((name) => `${name} in an around`).toSorted());
});

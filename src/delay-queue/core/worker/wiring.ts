import { Announcer } from './announcer.js';
import { AbortWatch } from './abort-watch.js';
import { handlerConnections, SlotKeeper } from './admission.js';
import { Claimer } from './claimer.js';
import { Completer, type CompleterPort } from './completer.js';
import { createWorkerContext, type WorkerContext, type WorkerSetup } from './context.js';
import { Declarations } from './declarations.js';
import { Executor } from './executor.js';
import { HintFollower, reportVacancy } from './hint-follower.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Throttles } from './limits.js';
import { Loader } from './loader.js';
import { Loop } from './loop.js';
import { MissedClaims } from './missed-claims.js';
import { NameStates } from './name-state.js';
import { OnDeadCalls } from './on-dead-calls.js';
import { createPruners } from './pruner.js';
import { Reruns } from './reruns.js';
import { Scanner } from './scanner.js';
import { TimerQueue } from './timer-queue.js';

/** The parts of a worker, in the order of the loop. */
export type WorkerParts = ReturnType<typeof buildParts>;

/** Where the loop starts and ends: the completer's outcomes go back into the timer queue. */
type Core = WorkerContext & ReturnType<typeof buildCore>;

/** What parts report to others that are built after them. */
type Reports = Pick<Loop, 'slotFreed' | 'wake'> &
  Pick<CompleterPort, 'exhausted' | 'found' | 'wrote'>;

/** @throws DelayConfigError when `transactionalConnections` are too few for its handlers */
export function buildParts(setup: WorkerSetup) {
  const context = createWorkerContext(setup);
  const to: Reports = {
    wake: () => loop.wake(),
    slotFreed: (name) => loop.slotFreed(name),
    wrote: () => {
      loop.wake();
      if (context.testClock === undefined) beside.reruns.ended();
    },
    exhausted: (attempt, onDead) => onDeadCalls.add(attempt, onDead),
    found: (row) => onDeadCalls.take(row),
  };
  const core: Core = { ...context, ...buildCore(context, to) };
  const loader = new Loader(core);
  const scanner = new Scanner(core);
  const aborts = new AbortWatch(core);
  const hints = new HintFollower({ ...core, loader, aborts });
  const executor = new Executor(core);
  const onDeadCalls = new OnDeadCalls({ ...core, executor });
  const loop: Loop = buildLoop({ ...core, scanner, executor }, to);
  const beside = buildBeside(core);
  return { ...core, loader, scanner, aborts, hints, executor, onDeadCalls, loop, ...beside };
}

function buildCore(context: WorkerContext, to: Reports) {
  const { options, wheel, registry, events, connections, testClock, nodes, notifier } = context;
  const share = handlerConnections(connections.attempts.max, registry, options.concurrency, events);
  const names = new NameStates(registry, share, events, () => to.wake());
  const throttles = new Throttles(
    wheel,
    names,
    {
      throttleEnded: ({ of, group }) => queue.ready.release(of.name, group),
      vacant: () => to.wake(),
    },
    testClock && (() => testClock.nowMs()),
  );
  const completer = new Completer(context, {
    wrote: () => to.wrote(),
    waits: (wake) => queue.offerIfNear(wake),
    freed: (attempt) => reportVacancy(attempt, throttles, nodes, notifier),
    passed: (wake) => notifier.sendPassed(wake),
    exhausted: (attempt, onDead) => to.exhausted(attempt, onDead),
    found: (row) => to.found(row),
  });
  const queue: TimerQueue = new TimerQueue(
    { ...context, names },
    {
      due: () => {
        context.idle.disturb();
        to.wake();
      },
      unreadable: (id) => void completer.deadLetters.unreadable(id),
      giveBack: (id, epoch) => completer.giveBack(id, epoch),
    },
  );
  return { names, throttles, completer, queue };
}

function buildLoop(parts: Core & { scanner: Scanner; executor: Executor }, to: Reports): Loop {
  const { deadLetters } = parts.completer;
  const claimer = new Claimer(parts);
  const { sizes } = claimer;
  const slots = new SlotKeeper(
    { ...parts, sizes },
    {
      freed: (name) => to.slotFreed(name),
      vacant: () => to.wake(),
    },
  );
  parts.built(slots);
  return new Loop({
    ...parts,
    slots,
    claimer,
    missed: new MissedClaims({ ...parts, deadLetters }),
  });
}

/** What runs beside the loop. */
function buildBeside(core: Core) {
  const { testClock } = core;
  const announcer = new Announcer(core, core);
  return {
    declarations: new Declarations(core),
    reruns: new Reruns(core, ({ wake, nowMs }) => {
      if (testClock !== undefined) return;
      const written = { databaseMs: nowMs, monotonicMs: performance.now() };
      announcer.announce(wake, written, 'confirmed');
    }),
    leaseKeeper: new LeaseKeeper(core),
    pruners: createPruners(core),
  };
}

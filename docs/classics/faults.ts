import { setTimeout as pause } from 'node:timers/promises';
import { type Actor, Cast } from './cast.js';
import { DESIGNS, type DesignName, type Fault, type Outcome, type Shows } from './designs.js';

/** How long the other process has to come to an order as well, where the design does not promise it. */
const GRACE_MS = 1_000;
const LONG_MS = 20_000;
const PAUSE_MS = 3_000;

export type Outcomes = Record<Fault, Outcome>;

export interface Run {
  design: DesignName;
  /** Of an empty database. */
  url: string;
  /** Whether the close is a compare-and-set; then only what a guard cannot mend is left. */
  guarded?: boolean;
}

/** All faults of one design, one after the other, with processes that are killed and stopped. */
export async function runFaults({ design, url, guarded = false }: Run): Promise<Outcomes> {
  const { shows }: { shows: Shows } = DESIGNS[design];
  const cast = await Cast.open(design, url, guarded);
  try {
    const first = await cast.start();
    const lastMoment = await inTheLastMoment(cast, first);
    const rollback = await rolledBack(cast, first);
    const { second, outcome: restart } = await restarted(cast, first);
    const { others, outcome: twoProcesses } = await inTwoProcesses(cast, second, shows);
    const paused = await whilePaused(cast, others, shows);
    return {
      'last moment': lastMoment,
      rollback,
      restart,
      'two processes': twoProcesses,
      pause: paused,
    };
  } finally {
    await cast.close();
  }
}

/** A payment comes when the close has begun; and one close that takes long, beside others. */
async function inTheLastMoment(cast: Cast, actor: Actor): Promise<Outcome> {
  cast.hold('1-paid-late');
  await actor.place('1-long', 3_000);
  await actor.place('1-paid-at-once', 3_000);
  await actor.place('1-paid-late', 300);
  await actor.place('1-next', 400);
  await actor.pay('1-paid-at-once');
  await cast.untilClosing('1-paid-late');
  await actor.pay('1-paid-late');
  await cast.whileNobody('1-next', GRACE_MS);
  cast.letGo('1-paid-late');
  await cast.quiet();
  return cast.outcome('1-', ['1-long', '1-next']);
}

/** A payment that has cancelled the timer fails, and its transaction is rolled back. */
async function rolledBack(cast: Cast, actor: Actor): Promise<Outcome> {
  await actor.place('2-not-paid', 5_000);
  await actor.pay('2-not-paid', { spoilt: true });
  await cast.quiet();
  return cast.outcome('2-', ['2-not-paid']);
}

/** `kill -9` while one of three orders is being closed, and a new process. */
async function restarted(cast: Cast, first: Actor): Promise<{ second: Actor; outcome: Outcome }> {
  const orderIds = ['3-a', '3-b', '3-c'];
  cast.hold(...orderIds);
  for (const orderId of orderIds) await first.place(orderId, 500);
  await cast.untilClosing('3-a');
  await cast.kill(first);
  for (const orderId of orderIds) cast.letGo(orderId);
  const second = await cast.start();
  const ready = await cast.now();
  await cast.quiet();
  return { second, outcome: await cast.outcome('3-', orderIds, ready) };
}

/** A second process starts beside the first, and a payment reaches the one that did not place the order. */
async function inTwoProcesses(
  cast: Cast,
  second: Actor,
  shows: Shows,
): Promise<{ others: [Actor, Actor]; outcome: Outcome }> {
  const promised = shows['two processes']?.double !== undefined;
  const orderIds = ['4-a', '4-b', '4-c'];
  cast.hold(...orderIds, '4-paid');
  for (const orderId of orderIds) await second.place(orderId, 300);
  const third = await cast.start();
  for (const orderId of orderIds) {
    await cast.untilClosing(orderId);
    await cast.whileNobody(orderId, promised ? LONG_MS : GRACE_MS, 2);
    cast.letGo(orderId);
  }
  const others: [Actor, Actor] = [second, third];
  await second.place('4-paid', 300);
  const closing = await cast.untilClosing('4-paid');
  await beside(closing, others).pay('4-paid');
  cast.letGo('4-paid');
  await cast.quiet();
  return { others, outcome: await cast.outcome('4-', []) };
}

/** The process that is closing an order stands still for longer than a lease, a heartbeat and a tick. */
async function whilePaused(cast: Cast, actors: [Actor, Actor], shows: Shows): Promise<Outcome> {
  const promised = shows.pause?.double !== undefined;
  cast.hold('5-in-hand');
  await actors[0].place('5-in-hand', 300);
  const sleeper = await cast.untilClosing('5-in-hand');
  await sleeper.place('5-soon', 2_000);
  await sleeper.kill('SIGSTOP');
  const stopped = pause(PAUSE_MS);
  await cast.whileNobody('5-in-hand', promised ? LONG_MS : PAUSE_MS, 2);
  const heir = cast.closing('5-in-hand').find((actor) => actor !== sleeper);
  heir?.goOn('5-in-hand');
  await stopped;
  await sleeper.kill('SIGCONT');
  cast.letGo('5-in-hand');
  await cast.quiet();
  return cast.outcome('5-', ['5-in-hand', '5-soon']);
}

const beside = (actor: Actor, [one, other]: [Actor, Actor]): Actor => (actor === one ? other : one);

import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager, QueryRunner } from 'typeorm';
import { answered, ChangedItsMind } from './answered.js';
import { faultsOf } from './checks/index.js';
import type { Ground } from './ground.js';
import type { ImpoliteNode } from './node.js';
import type { Act, Program, Slot } from './program.js';
import { Quiet } from './quiet.js';
import type { Transaction } from './record.js';
import { Stage } from './stage.js';

/** The engine's channel: any role can speak on it. */
const CHANNEL = 'delay_queue';
const FALSE_EPOCHS_AHEAD = 7;
const FALSE_WAKE_AFTER_MS = 45_000;

/** A connection has a quarter of a second to open in some programs, and two to say who it is: a busy machine may take them from it. */
const STARTS_MAX = 10;
const NEXT_START_AFTER_MS = 500;
const TOO_BUSY = /connection timeout|Connection terminated/;

async function opened(ground: Ground, program: Program, starts = 1): Promise<Stage> {
  try {
    return await Stage.open(ground, program);
  } catch (error) {
    if (starts === STARTS_MAX || !TOO_BUSY.test(String(error))) throw error;
    await pause(NEXT_START_AFTER_MS);
    return opened(ground, program, starts + 1);
  }
}

/**
 * Plays a program to its end.
 * @param overtakenMax how often one that is due may be overtaken, if not as often as in any program
 * @returns every promise that was broken, one line each
 */
export async function play(
  ground: Ground,
  program: Program,
  overtakenMax?: number,
): Promise<string[]> {
  let stage: Stage;
  try {
    stage = await opened(ground, program);
  } catch (error) {
    return [`no start: ${program.setup.way}: ${String(error)}`];
  }
  try {
    const sessions = program.sessions.map((acts, index) => playSession(stage, acts, index + 1));
    await Promise.all(sessions);
    await settle(stage);
    const [node] = stage.nodes as [ImpoliteNode];
    const { client, handlers, record } = stage;
    const rows = await new Quiet(client, node.delays, handlers, record, overtakenMax).wait();
    // Whatever a handler left behind has come to its end, too.
    await settle(stage);
    return await faultsOf(record, client, rows);
  } finally {
    await stage.close();
  }
}

/** What was kept for later is done now, and what nobody waited for is over. */
async function settle({ record }: Stage): Promise<void> {
  const late = record.afterwards.splice(0);
  await Promise.allSettled(
    late.map((act) => answered(record, 'something that comes too late', act)),
  );
  while (record.loose.length > 0) await Promise.all(record.loose.splice(0));
}

async function playSession(stage: Stage, acts: readonly Act[], no: number): Promise<void> {
  const node = stage.nodes[no % stage.nodes.length] as ImpoliteNode;
  const who = `session ${no}`;
  for (const act of acts) {
    // What it was told stands in the record.
    await playAct(stage, act, node, who).catch(() => {});
  }
}

async function playAct(stage: Stage, act: Act, node: ImpoliteNode, who: string): Promise<void> {
  const { delays, dataSource } = node;
  switch (act.is) {
    case 'alone':
      return stage.player.call(act.call, { who, delays, dataSource });
    case 'transaction':
      return transaction(stage, act, node, who);
    case 'pause':
      return pause(act.ms);
    case 'hogs':
      return node.hogs(() => hog(node, act.connections, act.ms));
    case 'false hint':
      return falseHint(stage, act.slot);
  }
}

async function transaction(
  { player, record, proxy }: Stage,
  { steps, ends }: Extract<Act, { is: 'transaction' }>,
  { delays, dataSource }: ImpoliteNode,
  who: string,
): Promise<void> {
  let its = record.begin(who);
  const chained = (next: Transaction): void => {
    its = next;
  };
  const run = async (manager: EntityManager): Promise<void> => {
    const at = { who, delays, dataSource, manager, chained };
    const where = { ...at, transaction: its, scope: its.scope };
    await player.begin(where);
    await player.steps(steps, where);
    if (ends === 'unanswered') proxy?.cutAfterCommit();
    if (ends === 'throws') throw new ChangedItsMind('the transaction is not wanted');
  };
  try {
    await answered(record, `${who}: transaction ${its.no}`, () => dataSource.transaction(run));
    its.told = 'committed';
  } catch (error) {
    // Of one that was over by then, its own end has told.
    if (its.told === 'open') {
      its.told = 'refused';
      its.error = error;
    }
  } finally {
    its.overAt = Math.min(its.overAt, record.moment());
  }
}

async function hog({ dataSource }: ImpoliteNode, connections: number, ms: number): Promise<void> {
  const runners: QueryRunner[] = [];
  try {
    for (let left = connections; left > 0; left -= 1) {
      const runner = dataSource.createQueryRunner();
      await runner.connect();
      runners.push(runner);
    }
  } finally {
    await pause(ms);
    for (const runner of runners) await runner.release();
  }
}

async function falseHint({ client }: Stage, { name, key }: Slot): Promise<void> {
  const { rows } = await client.query<{ id: string; epoch: string }>(
    'SELECT id::text, epoch::text FROM delay_queue.delay WHERE name = $1 AND key = $2',
    [name, key],
  );
  for (const { id, epoch } of rows) {
    const wakeMs = Date.now() + FALSE_WAKE_AFTER_MS;
    const wake = [Number(id), Number(epoch) + FALSE_EPOCHS_AHEAD, name, wakeMs];
    await client.query('SELECT pg_notify($1, $2)', [CHANNEL, `w${JSON.stringify([wake])}`]);
  }
}

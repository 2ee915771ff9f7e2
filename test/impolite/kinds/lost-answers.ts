import type { EntityManager } from 'typeorm';
import { until } from '../../support/until.js';
import { type Random, randomOf } from '../../../src/random.js';
import { answered } from '../answered.js';
import { faultsOf } from '../checks/index.js';
import type { Ground } from '../ground.js';
import { STATUS_SQL } from '../journal.js';
import type { ImpoliteNode } from '../node.js';
import { NAMES, type Step } from '../program.js';
import { Quiet } from '../quiet.js';
import type { Transaction } from '../record.js';
import { SilentProxy } from '../silent-proxy.js';
import { Stage } from '../stage.js';

const HORIZON_MS = 1_000;

/** A load finds what was committed so long after its wake; and then nothing but a sweep does. */
const LOOKED_BACK_MS = 5_000;

/** Nobody tells of such a commit, and a sweep may take its time: more patience than elsewhere. */
const OVERTAKEN_MAX = 250;

const SETUP = {
  way: 'url',
  nodes: 1,
  poolMax: 6,
  leaseMs: 3_600_000,
  horizonMs: HORIZON_MS,
  loadEveryMs: HORIZON_MS - 100,
  concurrency: 4,
} as const;

/**
 * COMMIT is done, and its answer never comes: nobody in the process knows of a delay that has been due for
 * long by then.
 */
export async function playLostAnswers(ground: Ground, seed: string): Promise<string[]> {
  const random = randomOf(seed);
  const proxies: SilentProxy[] = [];
  const through = async (url: string): Promise<string> => {
    const proxy = await SilentProxy.open(url);
    proxies.push(proxy);
    return proxy.url;
  };
  const program = { seed, setup: SETUP, before: [], sessions: [] };
  const stage = await Stage.open(ground, program, { through });
  try {
    const [proxy] = proxies as [SilentProxy];
    const steps = Array.from({ length: random.integer(1, 3) }, () => stepsOf(random));
    await Promise.all(steps.map((its, index) => unanswered(stage, proxy, its, index + 1)));
    const { client, handlers, record, nodes } = stage;
    const [node] = nodes as [ImpoliteNode];
    const rows = await new Quiet(client, node.delays, handlers, record, OVERTAKEN_MAX).wait();
    return await faultsOf(record, client, rows);
  } finally {
    await stage.close();
    for (const proxy of proxies) await proxy.close();
  }
}

function stepsOf(random: Random): Step[] {
  const afterMs = HORIZON_MS + random.integer(50, 400);
  const script = { steps: [{ is: 'write' as const }], fails: 0, how: 'throws' as const };
  const wish = { name: random.pick(NAMES), afterMs, script };
  return [
    { is: 'call', call: { verb: 'schedule', wish } },
    { is: 'write' },
    { is: 'waits', ms: afterMs + LOOKED_BACK_MS + random.integer(1_100, 2_500) },
  ];
}

async function unanswered(
  { record, player, nodes, client }: Stage,
  proxy: SilentProxy,
  steps: readonly Step[],
  no: number,
): Promise<void> {
  const [{ delays, dataSource }] = nodes as [ImpoliteNode];
  const who = `session ${no}`;
  const its = record.begin(who);
  let port = 0;
  const run = async (manager: EntityManager): Promise<void> => {
    const where = { who, delays, dataSource, manager, transaction: its, scope: its.scope };
    await player.begin(where);
    await player.steps(steps, where);
    port = await portOf(manager);
    proxy.loseAnswers(port);
  };
  const committed = answered(record, `${who}: its transaction`, () => dataSource.transaction(run));
  const told = committed.then(
    () => 'committed' as const,
    () => 'refused' as const,
  );
  await until(
    () => statusOf(client, its),
    (status) => status === 'committed',
  );
  proxy.cutAt(port);
  its.told = await told;
  its.overAt = record.moment();
}

async function statusOf(client: Stage['client'], { xid }: Transaction): Promise<string> {
  if (xid === undefined) return 'not begun';
  const { rows } = await client.query<{ status: string }>(STATUS_SQL, [[xid]]);
  return rows[0]?.status ?? 'unknown';
}

/** Of the connection that the manager's transaction is on. */
async function portOf({ queryRunner }: EntityManager): Promise<number> {
  const client = (await queryRunner?.connect()) as {
    connection: { stream: { localPort: number } };
  };
  return client.connection.stream.localPort;
}

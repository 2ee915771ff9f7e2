import { setTimeout as pause } from 'node:timers/promises';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import type { PatroniCluster, PatroniNode, Sessions } from './cluster.js';

/** What a scenario does its harm to. */
export interface Stage {
  cluster: PatroniCluster;
  primary: PatroniNode;
  /** Between the application and HAProxy, where a scenario wants it. */
  network: PostgresProxy | undefined;
  /** Starts another process, which places orders and may run handlers; it is started again as long as it cannot. */
  another(isWorker: boolean): void;
}

export interface Scenario {
  name: string;
  title: string;
  /** What HAProxy does with the sessions of a server that is down; its own default is to leave them. */
  sessions?: Sessions;
  /** Whether a network that can be cut lies before HAProxy. */
  hasNetwork?: boolean;
  /** Does the harm, and mends it. @returns when another node had become the primary, if one did: its `Date.now()` */
  harm(stage: Stage): Promise<number | undefined>;
}

/** Longer than Patroni needs to give up a node. */
const LONG_MS = 25_000;

/** So long the keepalives of the cluster's settings need: idle, and three probes. */
const KEEPALIVE_MS = 25_000;

async function promoted({ cluster, primary }: Stage): Promise<number> {
  await cluster.promotedInsteadOf(primary);
  return Date.now();
}

async function frozen(
  nodes: readonly PatroniNode[],
  meanwhile: () => Promise<void>,
): Promise<void> {
  for (const node of nodes) await node.freeze();
  try {
    await meanwhile();
  } finally {
    for (const node of nodes) await node.thaw();
  }
}

const switchover = async (stage: Stage): Promise<number> => {
  const [at] = await Promise.all([promoted(stage), stage.primary.switchover()]);
  return at;
};

/** For a while there are two that take themselves for the primary, one of them with what it knew before. */
const zombie = async (stage: Stage): Promise<number> => {
  await stage.primary.freeze();
  const at = await promoted(stage);
  await pause(LONG_MS);
  await stage.primary.thawPostgres();
  await pause(3_000);
  stage.primary.start();
  return at;
};

/** Three in a row, each as soon as the node before it follows again. */
async function switchovers(stage: Stage): Promise<number> {
  let at = await switchover(stage);
  for (const _ of [2, 3]) {
    const primary = await stage.cluster.whole();
    at = await switchover({ ...stage, primary });
  }
  return at;
}

async function nodeKilled(stage: Stage): Promise<number> {
  await stage.primary.kill();
  const at = await promoted(stage);
  await pause(5_000);
  return at;
}

/** The primary stays the primary, and its sessions may only read. */
async function readOnlySetting({ primary }: Stage): Promise<undefined> {
  const set = async (value: 'on' | 'off'): Promise<void> => {
    await primary.sql(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await primary.sql('SELECT pg_reload_conf()');
  };
  await set('on');
  await pause(10_000);
  await set('off');
  return undefined;
}

/** Commits wait for a replica, and no node is left that Patroni could make one. */
async function hangingCommits(stage: Stage, meanwhile = () => pause(LONG_MS)): Promise<undefined> {
  await frozen(await stage.cluster.replicas(), meanwhile);
  return undefined;
}

async function etcdLost({ cluster }: Stage): Promise<undefined> {
  const { pid } = cluster.etcd;
  if (pid === undefined) throw new Error('etcd does not run');
  process.kill(pid, 'SIGSTOP');
  try {
    await pause(LONG_MS);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  return undefined;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'switchover',
    title: 'switchover, sessions left',
    harm: switchover,
  },
  {
    name: 'switchover-shut',
    title: 'switchover, sessions shut',
    sessions: 'shut',
    harm: switchover,
  },
  {
    name: 'switchovers',
    title: 'three switchovers in a row',
    harm: switchovers,
  },
  {
    name: 'kill-postgres',
    title: 'kill -9 of the Postgres of the primary',
    harm: async (stage) => {
      await stage.primary.killPostgres();
      // Its Patroni may start it again, and no other node becomes the primary.
      await pause(LONG_MS);
      return undefined;
    },
  },
  {
    name: 'kill-node',
    title: 'kill -9 of the node of the primary',
    harm: nodeKilled,
  },
  {
    name: 'kill-node-shut',
    title: 'the same, sessions shut',
    sessions: 'shut',
    harm: nodeKilled,
  },
  {
    name: 'kill-replica',
    title: 'kill -9 of the node of the synchronous replica',
    harm: async ({ cluster }) => {
      const replica = await cluster.synchronousReplica();
      await replica.kill();
      await pause(LONG_MS);
      return undefined;
    },
  },
  { name: 'zombie', title: 'the node of the primary stands still, and comes back', harm: zombie },
  {
    name: 'zombie-shut',
    title: 'the same, sessions shut',
    sessions: 'shut',
    harm: zombie,
  },
  {
    name: 'cut',
    title: 'all connections die without a word',
    hasNetwork: true,
    harm: async ({ network }) => {
      network?.silence();
      await pause(KEEPALIVE_MS);
      // As the server's keepalives do. Without them a transaction of the application, and the order that it has locked, stay for good.
      network?.cutSilent();
      return undefined;
    },
  },
  {
    name: 'etcd',
    title: 'etcd is lost for 25 s: no primary',
    harm: etcdLost,
  },
  {
    name: 'read-only',
    title: 'the address leads to a replica for 10 s, and its sessions stay',
    harm: async ({ cluster }) => {
      const [replica] = await cluster.replicas();
      await cluster.endProxies();
      await cluster.proxy('left', replica);
      await pause(10_000);
      await cluster.proxy('left');
      await pause(LONG_MS);
      await cluster.endOldProxies();
      return undefined;
    },
  },
  {
    name: 'read-only-setting',
    title: 'the primary is set to read-only for 10 s',
    harm: readOnlySetting,
  },
  {
    name: 'no-address',
    title: 'HAProxy is away for 15 s: connections are refused',
    harm: async ({ cluster }) => {
      await cluster.endProxies();
      await pause(15_000);
      await cluster.proxy('left');
      return undefined;
    },
  },
  {
    name: 'hanging-commits',
    title: 'both replicas stand still for 25 s: commits hang',
    harm: (stage) => hangingCommits(stage),
  },
  {
    name: 'starts',
    title: 'a worker and a producer start while commits hang',
    harm: (stage) =>
      hangingCommits(stage, async () => {
        stage.another(true);
        stage.another(false);
        await pause(LONG_MS);
      }),
  },
];

export const networkOf = async (
  { hasNetwork }: Scenario,
  url: string,
): Promise<PostgresProxy | undefined> => (hasNetwork ? await openProxy(url) : undefined);

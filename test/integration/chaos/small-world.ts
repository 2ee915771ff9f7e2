import { setTimeout as pause } from 'node:timers/promises';
import { openProxy } from '../../chaos/proxy/proxy.js';
import type { OwnServer } from '../../chaos/server/chaos-server.js';
import type { ChaosServer, Role, World } from '../../chaos/world.js';
import type { Random } from '../../../src/random.js';
import { SmallNode } from './small-node.js';

/** So much faster than in a real run goes by what faults wait for; leases are as long as there. */
const TIMES_FASTER = 10;
const LEASE_MS = 2_000;

const SLOTS: [slot: string, role: Role][] = [
  ['worker-1', 'worker'],
  ['worker-2', 'worker'],
  ['producer-1', 'producer'],
];

/** The world is stopped while a fault sleeps. */
export class Stopped extends Error {}

/** Two workers and a producer that only write rows, for one fault at a time. */
export class SmallWorld implements World {
  readonly leaseMs = LEASE_MS;
  readonly lines: string[] = [];
  /** Looks at the world whenever a fault has done something and waits. */
  look: () => Promise<void> | void = () => {};
  /** Sleeps left until the world is stopped. */
  sleepsLeft = Infinity;
  readonly #taken = new Set<SmallNode>();

  static async open(own: OwnServer): Promise<SmallWorld> {
    const database = await own.freshDatabase();
    await database.sql('CREATE TABLE written (row text)');
    await database.sql('CREATE SCHEMA delay_queue');
    await database.sql(
      'CREATE TABLE delay_queue.delay AS SELECT n::bigint AS id FROM generate_series(1, 1000) n',
    );
    const nodes = await Promise.all(
      SLOTS.map(async ([slot, role]) => {
        const proxy = await openProxy(database.url);
        return new SmallNode(slot, role, proxy, hasten);
      }),
    );
    await Promise.all(nodes.map((node) => node.start()));
    return new SmallWorld(database, nodes);
  }

  readonly server: ChaosServer;

  private constructor(
    private readonly database: Awaited<ReturnType<OwnServer['freshDatabase']>>,
    readonly nodes: readonly SmallNode[],
  ) {
    this.server = { ...database, crash: (downMs) => database.crash(hasten(downMs)) };
  }

  async take(random: Random, role?: Role): Promise<{ node: SmallNode; release: () => void }> {
    const fits = this.nodes.filter(
      (node) =>
        node.running && !this.#taken.has(node) && (role === undefined || node.role === role),
    );
    const node = random.pick(fits);
    this.#taken.add(node);
    return { node, release: () => this.#taken.delete(node) };
  }

  /** Nodes that a fault has not given back. */
  get taken(): string[] {
    return [...this.#taken].map(({ slot }) => slot);
  }

  async sleep(ms: number): Promise<void> {
    await this.look();
    if (--this.sleepsLeft <= 0) throw new Stopped();
    await pause(hasten(ms));
  }

  log(line: string): void {
    this.lines.push(line);
  }

  /** All nodes run, and each commits through its proxy. */
  async isWell(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.works()));
  }

  /** Which of these rows are there. */
  async written(rows: readonly string[]): Promise<string[]> {
    const found = await this.server.sql<{ row: string }>(
      'SELECT row FROM written WHERE row = ANY ($1)',
      [rows],
    );
    return found.map(({ row }) => row);
  }

  async close(): Promise<void> {
    for (const node of this.nodes) {
      if (node.running) await node.kill();
      await node.proxy.close();
    }
    await this.database.drop();
  }
}

function hasten(ms: number): number {
  return ms / TIMES_FASTER;
}

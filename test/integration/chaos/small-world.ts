import { FAULTS } from '../../chaos/faults/faults.js';
import { Slot } from '../../chaos/nodes/slot.js';
import type { StartHow } from '../../chaos/processes/process.protocol.js';
import { openProxy } from '../../chaos/proxy/proxy.js';
import { type ChaosDatabase, ChaosServer } from '../../chaos/server/chaos-server.js';
import { World } from '../../chaos/world.js';
import { randomOf } from '../../../src/random.js';
import { NodeProcess } from '../../support/node-process.js';
import type { SmallNodeMessage, SmallNodeSetup } from '../fixtures/small-node.js';

/** So much faster than in a real run goes by what faults wait for. */
const TIMES_FASTER = 10;

const PROGRAM = 'test/integration/fixtures/small-node.ts';

const SLOTS = ['worker-1', 'worker-2', 'producer-1'] as const;

/** Two workers and a producer that only write rows, for one fault after the other. */
export class SmallWorld extends World {
  /** Looks at the world whenever a fault has done something and waits. */
  look: () => unknown = () => {};
  /** Since the fault began: what processes have told, how they were started, how they ended. */
  told: SmallNodeMessage[] = [];
  started: StartHow[] = [];
  ended: string[] = [];
  readonly odd: string[] = [];
  /** The last of each slot. */
  readonly #processes = new Map<string, NodeProcess<SmallNodeMessage>>();

  static async open(server: ChaosServer): Promise<SmallWorld> {
    const database = await server.freshDatabase();
    await database.sql('CREATE TABLE written (row text)');
    await database.sql('CREATE SCHEMA delay_queue');
    await database.sql(
      'CREATE TABLE delay_queue.delay AS SELECT n::bigint AS id FROM generate_series(1, 1000) n',
    );
    const world = new SmallWorld(database);
    for (const slot of SLOTS) await world.#add(slot);
    await Promise.all(world.nodes.map((node) => node.start()));
    return world;
  }

  private constructor(database: ChaosDatabase) {
    super(database, [], () => {});
  }

  async #add(slot: (typeof SLOTS)[number]): Promise<void> {
    const proxy = await openProxy(this.database.url);
    const launch = (_: string, how: StartHow): NodeProcess<SmallNodeMessage> => {
      const setup: SmallNodeSetup = { ...how, url: proxy.url };
      const env = { SMALL_NODE: JSON.stringify(setup) };
      const process = NodeProcess.start<SmallNodeMessage>(PROGRAM, { env });
      this.#processes.set(slot, process);
      this.started.push(how);
      process.onMessage((message) => this.told.push(message));
      void process.exited.then(({ code, signal }) => this.ended.push(signal ?? `code ${code}`));
      return process;
    };
    const role = slot === 'producer-1' ? 'producer' : 'worker';
    const onOdd = (what: string): unknown => this.odd.push(what);
    const onChange = (): void => this.changed();
    this.nodes.push(new Slot({ slot, role, proxy, launch, onOdd, onChange, log: this.log }));
  }

  async harm(kind: string, seed = 1): Promise<void> {
    [this.told, this.started, this.ended] = [[], [], []];
    const fault = FAULTS.find((each) => each.kind === kind);
    await fault?.run(this, randomOf(`${kind}/${seed}`));
  }

  override async sleep(ms: number): Promise<void> {
    await this.look();
    await super.sleep(ms / TIMES_FASTER);
  }

  /** Of the errors in which transactions ended. */
  get codes(): string[] {
    return this.told.flatMap(({ code }) => code ?? []);
  }

  /** Rows of transactions that broke at their COMMIT. */
  get brokenAtCommit(): string[] {
    return this.told.flatMap(({ failed, atCommit }) => (failed && atCommit ? failed : []));
  }

  /** The longest that an event loop stood still. */
  get stoodMs(): number {
    return Math.max(0, ...this.told.map(({ stoodMs = 0 }) => stoodMs));
  }

  /** All nodes run as they should, and each commits something that it began only now. */
  async isWell(): Promise<void> {
    for (const process of this.#processes.values()) {
      // One of them may be under way.
      const last = Math.max(0, ...process.messages.map(numberOf)) + 1;
      await process.waitFor(
        (message) => message.committed !== undefined && numberOf(message) > last,
      );
    }
  }

  async count(sql: string): Promise<number> {
    const [row] = await this.database.sql<{ count: number }>(
      `SELECT count(*)::int AS count ${sql}`,
    );
    return row?.count ?? 0;
  }

  async close(): Promise<void> {
    for (const node of this.nodes) {
      await node.kill();
      await node.proxy.close();
    }
    await this.database.drop();
  }
}

/** Rows are called by process and number. */
function numberOf({ committed, failed }: SmallNodeMessage): number {
  return Number((committed ?? failed)?.split('-')[1] ?? 0);
}

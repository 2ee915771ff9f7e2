import { FAULTS } from '../../chaos/faults/faults.js';
import { Slot } from '../../chaos/nodes/slot.js';
import type { Role, StartHow } from '../../chaos/processes/process.protocol.js';
import { openProxy } from '../../chaos/proxy/proxy.js';
import { type ChaosDatabase, ChaosServer } from '../../chaos/server/chaos-server.js';
import { World } from '../../chaos/world.js';
import { randomOf } from '../../../src/random.js';
import { NodeProcess } from '../../support/node-process.js';
import type { SmallNodeMessage, SmallNodeSetup } from '../fixtures/small-node.js';

/** So much faster than in a real run goes by what faults wait for. */
export const TIMES_FASTER = 10;

const SLOTS: [slot: string, role: Role][] = [
  ['worker-1', 'worker'],
  ['worker-2', 'worker'],
  ['producer-1', 'producer'],
];

/** A process that ran in a slot. */
interface Ran {
  slot: string;
  how: StartHow;
  process: NodeProcess<SmallNodeMessage>;
}

/** Two workers and a producer that only write rows, for one fault after the other. */
export class SmallWorld extends World {
  /** Looks at the world whenever a fault has done something and waits. */
  look: () => unknown = () => {};
  readonly odd: string[] = [];
  #ran: Ran[] = [];
  /** How many messages of each process are older than the fault. */
  readonly #seen = new Map<NodeProcess<SmallNodeMessage>, number>();

  static async open(server: ChaosServer): Promise<SmallWorld> {
    const database = await server.freshDatabase();
    await database.sql('CREATE TABLE written (row text)');
    await database.sql('CREATE SCHEMA delay_queue');
    await database.sql(
      'CREATE TABLE delay_queue.delay AS SELECT n::bigint AS id FROM generate_series(1, 1000) n',
    );
    const crash = (downMs: number): Promise<void> => database.crash(downMs / TIMES_FASTER);
    const world = new SmallWorld({ ...database, crash });
    for (const [slot, role] of SLOTS) await world.#add(slot, role);
    await Promise.all(world.nodes.map((node) => node.start()));
    return world;
  }

  private constructor(database: ChaosDatabase) {
    super(database, [], () => {});
  }

  async #add(slot: string, role: Role): Promise<void> {
    const proxy = await openProxy(this.database.url);
    const launch = (_: string, how: StartHow): NodeProcess<SmallNodeMessage> => {
      const setup: SmallNodeSetup = { ...how, url: proxy.url, timesFaster: TIMES_FASTER };
      const process = NodeProcess.start<SmallNodeMessage>(
        'test/integration/fixtures/small-node.ts',
        {
          env: { SMALL_NODE: JSON.stringify(setup) },
        },
      );
      this.#ran.push({ slot, how, process });
      return process;
    };
    const hears = {
      onOdd: (what: string) => this.odd.push(what),
      onEnd: () => {},
      onChange: () => this.changed(),
      log: () => {},
    };
    this.nodes.push(new Slot({ ...hears, slot, role, proxy, launch }));
  }

  /** Does one fault. */
  async harm(kind: string, seed = 1): Promise<void> {
    this.#ran = this.#ran.filter(({ process }) => process.running);
    for (const { process } of this.#ran) this.#seen.set(process, process.messages.length);
    const fault = FAULTS.find((each) => each.kind === kind);
    await fault?.run(this, randomOf(`${kind}/${seed}`));
  }

  override async sleep(ms: number): Promise<void> {
    await this.look();
    await super.sleep(ms / TIMES_FASTER);
  }

  /** What processes have told since the fault began. */
  get told(): SmallNodeMessage[] {
    return this.#ran.flatMap(({ process }) => process.messages.slice(this.#seen.get(process)));
  }

  get committed(): string[] {
    return this.told.flatMap(({ committed }) => committed ?? []);
  }

  /** Of the errors in which transactions ended. */
  get codes(): string[] {
    return this.told.flatMap(({ code }) => code ?? []);
  }

  /** Rows of transactions that broke at their COMMIT. */
  get brokenAtCommit(): string[] {
    return this.told.flatMap(({ failed, atCommit }) => (failed && atCommit ? failed : []));
  }

  /** The longest that any of them has told. */
  longest(of: 'stoodMs' | 'waitedMs'): number {
    return Math.max(0, ...this.told.map((message) => message[of] ?? 0));
  }

  /** How the processes were started that the fault has started. */
  get starts(): StartHow[] {
    return this.#ran.filter(({ process }) => !this.#seen.has(process)).map(({ how }) => how);
  }

  /** How the processes ended that have ended. */
  async ends(): Promise<string[]> {
    const gone = this.#ran.filter(({ process }) => !process.running);
    const exits = await Promise.all(gone.map(({ process }) => process.exited));
    return exits.map(({ code, signal }) => signal ?? `code ${code}`);
  }

  /** All nodes run as they should, and each commits something that it began only now. */
  async isWell(): Promise<void> {
    await Promise.all(
      this.nodes.map(async ({ slot }) => {
        const process = this.#ran.findLast((each) => each.slot === slot)?.process;
        const numbers = process?.messages.map(numberOf) ?? [];
        // One of them may be under way.
        const last = Math.max(0, ...numbers) + 1;
        await process?.waitFor(
          (message) => message.committed !== undefined && numberOf(message) > last,
        );
      }),
    );
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

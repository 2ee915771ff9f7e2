import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../support/database.js';
import { type DelayNode, startNode } from '../../../support/delay-node.js';
import { OtherNode } from '../../../support/other-node.js';
import { type Actor, stepsOf } from './actor.js';
import { faultsOf } from './audit.js';
import { merges } from './merges.js';
import { outcomeOf, transcriptOf } from './outcome.js';
import { Player } from './player.js';
import { Session } from './session.js';
import { Stepper } from './stepper.js';
import { Watch } from './watch.js';
import { keepWriteLog, readWriteLog } from './write-log.js';

/** What the key is in before the actors begin. A lease is the `holder`'s. */
export type State = 'nothing' | 'due' | 'running' | 'lease over' | 'dead';

export interface Scenario {
  /** By slot; a single state is that of slot `a`. */
  before: State | { [slot: string]: State };
  actors: readonly Actor[];
}

export interface Explored {
  interleavings: number;
  /** Every outcome that some interleaving had, sorted. */
  outcomes: string[];
}

const SESSIONS_MAX = 3;

/** The node that holds the lease before the actors begin. */
export const HOLDER = 'holder';

/** A database, and the sessions on which scenarios are run in every order. */
export class Stage {
  #rounds = 0;

  static async open(): Promise<Stage> {
    const database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await keepWriteLog(client);
    // A second for each deadlock to be noticed would make this a slow test.
    await client.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)}
                        SET deadlock_timeout = '5ms'`);
    const node = await startNode({ url: database.url });
    const sessions: Session[] = [];
    while (sessions.length < SESSIONS_MAX) sessions.push(await Session.open(node.dataSource));
    return new Stage(database, node, client, sessions, await Watch.open(database.url));
  }

  private constructor(
    private readonly database: TestDatabase,
    private readonly node: DelayNode,
    private readonly client: Client,
    private readonly sessions: readonly Session[],
    private readonly watch: Watch,
  ) {}

  /** Runs every interleaving of the actors' statements; throws at the first that breaks a rule. */
  async explore({ before, actors }: Scenario): Promise<Explored> {
    const outcomes = new Set<string>();
    let interleavings = 0;
    for (const order of merges(actors.map(stepsOf))) {
      outcomes.add(
        await this.#play(typeof before === 'string' ? { a: before } : before, actors, order),
      );
      interleavings += 1;
    }
    return { interleavings, outcomes: [...outcomes].toSorted() };
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.close()));
    await this.watch.close();
    await this.client.end();
    await this.node.stop();
    await this.database.drop();
  }

  async #play(
    before: { [slot: string]: State },
    actors: readonly Actor[],
    order: readonly number[],
  ): Promise<string> {
    this.#rounds += 1;
    const round = this.#rounds;
    const keyOf = (slot: string): string => `${slot}/${round}`;
    const keys = Object.keys(before).map(keyOf);
    for (const [slot, state] of Object.entries(before)) await this.#prepare(keyOf(slot), state);
    const stepper = new Stepper(this.watch, keys);
    const { rows } = await this.watch.look(keys, []);
    const { id = 0, epoch = 0, leasedBy } = rows.get(keyOf('a')) ?? {};
    const wake = { id, epoch };
    const players = actors.map((actor, index) => {
      const session = this.sessions[index] as Session;
      const attempt = leasedBy === actor.nodeName ? wake : undefined;
      const part = Player.partOf(actor, session, {
        delays: this.node.delays,
        keyOf,
        wake,
        attempt,
      });
      return new Player(actor, session, part, () => stepper.views.length);
    });
    await stepper.run(players, order);
    const { views } = stepper;
    const evidence = { players, views, keyOf, ...(await readWriteLog(this.client, keys)) };
    const faults = faultsOf(evidence);
    if (faults.length > 0)
      throw new Error([...faults, ...transcriptOf(evidence, order)].join('\n'));
    return outcomeOf(evidence);
  }

  async #prepare(key: string, state: State): Promise<void> {
    if (state === 'nothing') return;
    const { delays, dataSource } = this.node;
    const { id } = await delays.schedule('test.a', { n: 1 }, { after: 0, key });
    const holder = new OtherNode(dataSource, HOLDER);
    if (state === 'running') await holder.claim(id);
    if (state === 'lease over') await holder.claimAndDie(id);
    if (state === 'dead') await holder.claimAndFail(id, null);
  }
}

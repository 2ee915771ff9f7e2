import { createTestDatabase, type TestDatabase } from '../../../support/database.js';
import { type DelayNode, startNode } from '../../../support/delay-node.js';
import { OtherNode } from '../../../support/other-node.js';
import { type Actor, stepsOf } from './actor.js';
import { faultsOf } from './audit.js';
import { outcomeOf, transcriptOf } from './outcome.js';
import { Player } from './player.js';
import { Session } from './session.js';
import { HOLDER, type State } from './state.js';
import { Stepper } from './stepper.js';
import { Watch } from './watch.js';

export interface Scenario {
  /** By slot; a single state is that of slot `a`. */
  before: State | { [slot: string]: State };
  actors: readonly Actor[];
}

const SESSIONS_MAX = 3;

/** A database, and the sessions on which scenarios are run in every order. */
export class Stage {
  #rounds = 0;

  static async open(): Promise<Stage> {
    const database = await createTestDatabase();
    const node = await startNode({ url: database.url });
    const sessions: Session[] = [];
    while (sessions.length < SESSIONS_MAX) sessions.push(await Session.open(node.dataSource));
    return new Stage(database, node, sessions, await Watch.open(database.url));
  }

  private constructor(
    private readonly database: TestDatabase,
    private readonly node: DelayNode,
    private readonly sessions: readonly Session[],
    private readonly watch: Watch,
  ) {}

  /**
   * Runs every interleaving of the actors' statements; throws at the first that breaks a rule.
   * @returns the outcomes that some interleaving had
   */
  async explore({ before, actors }: Scenario): Promise<Set<string>> {
    const outcomes = new Set<string>();
    const states = statesBefore(before);
    for (const order of merges(actors.map(stepsOf))) {
      outcomes.add(await this.#play(states, actors, order));
    }
    return outcomes;
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.close()));
    await this.watch.close();
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
    await this.watch.order(keys);
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
    const evidence = { players, views, keyOf, ...(await this.watch.written(keys)) };
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

export const statesBefore = (before: Scenario['before']): { [slot: string]: State } =>
  typeof before === 'string' ? { a: before } : before;

/**
 * Every merge of scripts with so many steps each, as a list of whose turn it is: `[2, 1]` has three
 * (`001`, `010`, `100`). Each keeps the order within a script, and no other order does.
 */
function* merges(steps: readonly number[]): Generator<number[]> {
  if (steps.every((left) => left === 0)) {
    yield [];
    return;
  }
  for (const [turn, left] of steps.entries()) {
    if (left === 0) continue;
    for (const rest of merges(steps.with(turn, left - 1))) yield [turn, ...rest];
  }
}

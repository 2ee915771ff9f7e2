import type { OnDelayOptions } from 'nestjs-delay-queue';
import type { Random } from '../../../src/random.js';
import type { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { AnswerChecks } from '../check/answer-checks.js';
import { EventChecks } from '../check/event-checks.js';
import { RowChecks } from '../check/row-checks.js';
import { RunChecks } from '../check/run-checks.js';
import { CALM, Network } from '../postgres/network.js';
import { Server } from '../postgres/server.js';
import { listOf } from '../postgres/statements/statement.js';
import type { World } from '../world.js';
import { Handlers } from './handlers.js';
import { SimNode } from './sim-node.js';

/** How soon a process that ended is started again. */
const RESTART_MS = 300;

/** The nodes of one run, the server they share, and everybody who watches. */
export class Cluster {
  readonly server: Server;
  readonly network: Network;
  readonly runs: RunChecks;
  readonly rows: RowChecks;
  readonly answers: AnswerChecks;
  readonly #random: Random;
  readonly #events: EventChecks;
  readonly #handlers: Handlers;
  #nodes: SimNode[] = [];
  #births = 0;
  /** Statements since the count was taken, by kind. */
  readonly statements = new Map<string, number>();
  /** Statements in which several calls travelled together. */
  shared = 0;
  /** Clients call and things go wrong. */
  isTrouble = true;
  isClosing = false;
  /** How many blows were dealt so far. */
  blows = 0;

  constructor(readonly world: World) {
    const { scenario, timeline, random } = world;
    this.#random = random.fork('cluster');
    this.network = new Network(random.fork('network'), { ...scenario.weather });
    const hold = random.fork('hold');
    this.server = new Server(
      timeline,
      {
        onStatement: ({ label, isShared }, { owner }, parameters) => {
          // What a node asks over and over, and random texts, tell nothing.
          if (world.isTraced && !['load', 'sweep', 'notify'].includes(label)) {
            world.note('db', `${owner} asks to ${label} ${JSON.stringify(parameters)}`);
          }
          this.statements.set(label, (this.statements.get(label) ?? 0) + 1);
          if (isShared && listOf(parameters[0]).length > 1) this.shared += 1;
        },
        onCommit: (commit, now) => {
          this.rows.committed(commit, now);
          this.answers.committed(commit);
          this.#events.committed(commit);
        },
      },
      () => (this.isTrouble && hold.chance(scenario.holdChance) ? hold.next() * 40 : 0),
    );
    this.runs = new RunChecks(
      world,
      () => this.server.latest(),
      () => this.server.clockOffsetMs === 0,
    );
    const kinds = new Map<string, OnDelayOptions>(
      scenario.kinds.map((kind) => [kind.name, kind.options]),
    );
    this.rows = new RowChecks(
      world,
      this.runs,
      (name) => kinds.get(name)?.maxAttempts ?? scenario.options.maxAttempts ?? Infinity,
      (name) => kinds.get(name)?.transactional === true,
    );
    this.answers = new AnswerChecks(world);
    this.#events = new EventChecks(world, this.server.tables);
    this.#handlers = new Handlers(world, this.runs, this.#events, () => this.isTrouble);
    for (const { name, serves, startsAtMs } of scenario.nodes) {
      timeline.after(startsAtMs, () => this.#launch(name, serves));
    }
  }

  /** Processes that are not dead. */
  get living(): SimNode[] {
    return this.#nodes.filter((node) => !node.process.isDead);
  }

  get serving(): SimNode[] {
    return this.#nodes.filter((node) => node.isServing);
  }

  /** Every node of the scenario serves. */
  get isWhole(): boolean {
    return this.serving.length === this.world.scenario.nodes.length;
  }

  /** Nothing fails any more; what stood still goes on. */
  calmDown(): void {
    this.isTrouble = false;
    this.network.weather = { ...CALM, hears: this.world.scenario.weather.hears };
    this.server.isUp = true;
    for (const { process } of this.living) process.resume();
  }

  /** Ends in SIGTERM, and a successor. */
  drain(node: SimNode): void {
    const before = this.blows;
    void node.stop().then(() => {
      // Where nothing hindered it, nothing is left behind for a lease to end.
      const isUndisturbed = this.blows === before && this.world.scenario.weather.faultChance === 0;
      const held = this.#events.heldBy(node);
      if (isUndisturbed && !node.wasPaused && held.length > 0) {
        this.world.violate(`${node.name} has stopped and still holds ${JSON.stringify(held)}`);
      }
      this.#replace(node);
    });
  }

  kill(node: SimNode): void {
    node.kill();
    this.#replace(node);
  }

  stopServer(forMs: number): void {
    this.world.note('db', `stops for ${forMs.toFixed(0)} ms`);
    this.server.stop();
    this.world.timeline.after(forMs, () => {
      this.server.isUp = true;
    });
  }

  /** A supervisor looks after each node: what died by itself is started again, too. */
  superviseEvery(ms: number): void {
    this.world.timeline.after(ms, () => {
      if (this.isClosing) return;
      for (const node of this.#nodes) if (node.process.isDead) this.#replace(node);
      this.superviseEvery(ms);
    });
  }

  #replace(node: SimNode): void {
    if (!this.#nodes.includes(node)) return;
    this.#nodes = this.#nodes.filter((each) => each !== node);
    node.kill();
    if (this.isClosing) return;
    // Some deployments keep the name, others make up a new one.
    const isNew = this.#random.chance(0.5);
    this.#births += 1;
    const name = isNew ? `${node.name[0]}${this.#births}` : node.name;
    this.world.timeline.after(this.#random.next() * RESTART_MS, () =>
      this.#launch(name, node.serves),
    );
  }

  #launch(name: string, serves: readonly string[]): void {
    if (this.isClosing) return;
    const place = { server: this.server, network: this.network };
    const node = new SimNode(
      name,
      serves,
      this.world,
      place,
      this.#handlers.invoke,
      (born, events) => this.#watch(born, events),
    );
    this.#nodes.push(node);
    this.world.note(name, 'starts');
    void node.start();
  }

  #watch(node: SimNode, events: DelayEvents): void {
    this.#events.listen(node, events);
    if (!this.world.isTraced) return;
    events.on('trouble', ({ during, error }) =>
      this.world.note(node.name, `trouble during ${during}: ${String(error)}`),
    );
    events.on('lingering', ({ id }) => this.world.note(node.name, `${id} lingers`));
  }
}

import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { Happening } from '../shop/feed/feed.js';
import { StartError } from '../start.error.js';
import { OnceEach } from './once-each.js';
import type { Opening, Report } from './protocol.js';
import { Roster } from './roster.js';
import { ShopChild } from './shop-child.js';

const START_AGAIN_AFTER_MS = 1_000;
/** Processes in a row that die before they open, until the shop gives up. */
const FAILED_STARTS_MAX = 5;
/** Longer than a drain takes. */
const STOPS_WITHIN_MS = 30_000;

/** The part of the opening that all processes share; each has its own name. */
export type Openings = Omit<Opening, 'type' | 'name'>;

/** Receives what the supervisor reports. */
export interface Audience {
  happened(news: Happening): void;
  /** A process printed something: an error, a warning, or requested output. */
  printed(name: string, line: string): void;
  died(name: string, how: string): void;
  cameBack(name: string, pid: number): void;
  /** The shop was open, and no process can be started again. */
  failed(error: StartError): void;
}

/**
 * Runs the processes of a shop on one port, and restarts one that dies. They share the port through
 * `node:cluster`, which distributes connections round robin.
 */
export class Supervisor {
  /** By place. Each place has a name, and over time more than one process. */
  readonly #children = new Map<number, ShopChild>();
  readonly #open = new Set<number>();
  readonly #again = new Set<NodeJS.Timeout>();
  #roster: Roster | undefined;
  #names: readonly string[] = [];
  #openings: Openings | undefined;
  #port: number | undefined;
  #opening: { done: (port: number) => void; failed: (error: StartError) => void } | undefined;
  #failedStarts = 0;
  #stopping = false;
  #reporter: number | undefined;
  readonly #news: OnceEach;

  constructor(
    private readonly count: number,
    private readonly audience: Audience,
  ) {
    this.#news = new OnceEach((news) => audience.happened(news));
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({
      exec: fileURLToPath(new URL('./shop-process.js', import.meta.url)),
      args: [],
      // A debugger's port belongs to this process; loaders and the like must reach the others.
      execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
      silent: true,
    });
  }

  /** The processes begin to import the shop, the slowest part of the start. */
  start(): void {
    for (let place = 0; place < this.count; place++) this.#fork(place);
  }

  /**
   * @param names one for each process
   * @returns the port, once all of them listen
   * @throws StartError when one of them cannot
   */
  open(openings: Openings, names: readonly string[]): Promise<number> {
    this.#openings = openings;
    this.#names = names;
    this.#roster = new Roster(names, openings.shopStartedAt);
    for (const place of this.#children.keys()) this.#tellToOpen(place);
    return new Promise((done, failed) => {
      this.#opening = { done, failed };
    });
  }

  /** Lets all of them finish their work. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const timer of this.#again) clearTimeout(timer);
    await Promise.all([...this.#children].map(([place, child]) => this.#stop(place, child)));
  }

  async #stop(place: number, child: ShopChild): Promise<void> {
    child.stop();
    const tooLong = setTimeout(() => {
      const why = `did not stop within ${STOPS_WITHIN_MS / 1_000} s, and was killed`;
      this.audience.printed(this.#nameOf(place), why);
      child.kill();
    }, STOPS_WITHIN_MS);
    await child.exited;
    clearTimeout(tooLong);
  }

  #fork(place: number): void {
    const child = new ShopChild({
      onReport: (report) => this.#hear(place, report),
      onLine: (line) => this.audience.printed(this.#nameOf(place), line),
      onExit: (how) => this.#bury(place, how),
    });
    this.#children.set(place, child);
    this.#tellToOpen(place);
  }

  #nameOf(place: number): string {
    return this.#names[place] ?? `process ${place + 1}`;
  }

  #tellToOpen(place: number): void {
    const child = this.#children.get(place);
    if (!this.#openings || !child) return;
    const name = this.#nameOf(place);
    this.#roster?.starts(name, child.pid);
    const { config } = this.#openings;
    const port = this.#port ?? config.port;
    const opening = { ...this.#openings, config: { ...config, port } };
    child.tell({ type: 'open', name, ...opening });
    this.#tellWhoLives();
  }

  #hear(place: number, report: Exclude<Report, { type: 'ready' }>): void {
    if (report.type === 'open') this.#nowOpen(place, report.port);
    else if (report.type === 'kill') this.#children.get(this.#names.indexOf(report.name))?.kill();
    else if (report.type === 'happened') this.#news.tell(report.happenings);
    else if (this.#port === undefined) this.#fail(report.message);
    else this.audience.printed(this.#nameOf(place), report.message);
  }

  #nowOpen(place: number, port: number): void {
    this.#failedStarts = 0;
    this.#open.add(place);
    const name = this.#nameOf(place);
    const pid = this.#children.get(place)?.pid ?? 0;
    this.#roster?.isUp(name, pid);
    this.#tellWhoLives();
    this.#chooseReporter();
    if (this.#port !== undefined) return this.audience.cameBack(name, pid);
    if (this.#open.size < this.count) return;
    this.#port = port;
    this.#opening?.done(port);
  }

  #bury(place: number, how: string): void {
    this.#children.delete(place);
    const wasOpen = this.#open.delete(place);
    if (this.#stopping) return;
    const name = this.#nameOf(place);
    this.#roster?.died(name);
    this.#tellWhoLives();
    this.audience.died(name, how);
    if (this.#reporter === place) this.#reporter = undefined;
    this.#chooseReporter();
    if (!wasOpen && ++this.#failedStarts >= FAILED_STARTS_MAX) {
      return this.#fail(`${name} does not start: ${how}`);
    }
    const timer = setTimeout(() => {
      this.#again.delete(timer);
      this.#fork(place);
    }, START_AGAIN_AFTER_MS);
    this.#again.add(timer);
  }

  #fail(message: string): void {
    const error = new StartError(message);
    if (this.#port === undefined) this.#opening?.failed(error);
    else this.audience.failed(error);
  }

  #tellWhoLives(): void {
    if (this.#roster === undefined) return;
    const { list, events } = this.#roster;
    for (const child of this.#children.values()) child.tell({ type: 'processes', list, events });
  }

  /** One process reports the news of all. */
  #chooseReporter(): void {
    const [place] = this.#open;
    if (this.#reporter !== undefined || place === undefined) return;
    this.#reporter = place;
    const since = this.#news.since ?? this.#openings!.shopStartedAt;
    this.#children.get(place)?.tell({ type: 'report', since });
  }
}

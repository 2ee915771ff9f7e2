import { setTimeout as pause } from 'node:timers/promises';
import type { Player } from './player.js';
import type { Seen, SeenRow, Watch } from './watch.js';

/** What all could see between two steps. */
export interface View {
  rows: ReadonlyMap<string, SeenRow>;
  /** Who has a transaction open that may hold a lock. */
  open: ReadonlySet<string>;
}

/** Most statements answer within this time, and a look at who waits for whom is saved. */
const LOOK_AFTER_MS = 2;
const STUCK_WITHIN_MS = 20_000;

/**
 * Runs the scripts of some players statement by statement. A statement that waits for a lock stays
 * pending while the others go on, and its answer is taken when it comes free.
 */
export class Stepper {
  readonly views: View[] = [];

  constructor(
    private readonly watch: Watch,
    private readonly keys: readonly string[],
  ) {}

  /** @param order whose turn it is, as in `merges`; what is left after it runs in turn */
  async run(players: readonly Player[], order: readonly number[]): Promise<void> {
    const scripts = players.map((player) => player.session.run(() => player.play()));
    const done = Promise.all(scripts);
    done.catch(() => undefined);
    await this.#settle(players);
    for (const turn of order) await this.#step(players, players[turn]);
    // In turn: who looks again and again until another has ended must not be the only one to go on.
    while (players.some(({ session }) => session.state !== 'done')) {
      if (players.every(({ session }) => session.state !== 'parked'))
        await this.#untilOneGivesWay(players);
      for (const player of players) await this.#step(players, player);
    }
    await done;
  }

  /** They wait for one another. */
  async #untilOneGivesWay(players: readonly Player[]): Promise<void> {
    const busy = players.filter(({ session }) => session.state === 'busy');
    await Promise.race(busy.map(({ session }) => session.quiet()));
    await this.#settle(players);
  }

  async #step(players: readonly Player[], player: Player | undefined): Promise<void> {
    if (player?.session.state !== 'parked') return;
    player.step();
    await this.#settle(players);
  }

  /**
   * Resolves when every statement on its way has its answer or waits for somebody whose turn it
   * is not. Postgres has no event for a wait, so it is looked at again and again.
   */
  async #settle(players: readonly Player[]): Promise<void> {
    const giveUpAtMs = performance.now() + STUCK_WITHIN_MS;
    for (;;) {
      const answered = Promise.all(players.map(({ session }) => session.quiet()));
      await Promise.race([answered, pause(LOOK_AFTER_MS)]);
      // Who is busy now and answers during the look is looked at once more.
      const busy = players.filter(({ session }) => session.state === 'busy');
      const seen = await this.watch.look(
        this.keys,
        busy.map(({ session }) => session.pid),
      );
      const waiting = busy.filter(({ session }) => seen.blockers.get(session.pid)?.length);
      if (waiting.length === busy.length && areRipe(seen)) {
        this.#note(players, seen, waiting);
        return;
      }
      if (performance.now() > giveUpAtMs) throw new Error('a statement neither ends nor waits');
    }
  }

  #note(players: readonly Player[], { rows }: Seen, waiting: readonly Player[]): void {
    const open = players.filter((player) => player.open).map(({ actor }) => actor.name);
    for (const player of waiting) player.waits(this.views.length);
    this.views.push({ rows, open: new Set(open) });
  }
}

/** A delay for now is due at the next whole millisecond, and a claim before that would miss it. */
const areRipe = ({ rows }: Seen): boolean =>
  [...rows.values()].every(({ due, dead }) => due || dead);

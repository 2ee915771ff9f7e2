import { describeError } from '../api/error-text.js';
import type { DelayEvents } from '../api/events.js';
import { knowsZone, offsetIn, sameWallClock } from '../recurrence/zone-rules.js';
import type { ZoneStore } from '../store/zone.store.js';

/** Zones that one process compares. */
const ZONES_MAX = 1_000;

/**
 * Compares the rules of time zones with the database's, once for each zone. Two nodes that count a
 * zone differently cannot both agree with the database.
 */
export class Zones {
  readonly #compared = new Set<string>();
  #using: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(
    private readonly store: Pick<
      ZoneStore,
      'zones' | 'differenceIn' | 'computedElsewhere' | 'move'
    >,
    private readonly events: DelayEvents,
  ) {}

  /** A call makes a delay recur in that zone. In the background: the call is answered already. */
  used(zone: string): void {
    if (this.#compared.has(zone)) return;
    this.#using = this.#using.then(() => this.#tried(() => this.#compare([zone])));
  }

  /** At the start of a node: zones of its declarations, and of the delays with its names. */
  async follow(declared: readonly string[], names: readonly string[]): Promise<void> {
    await this.#tried(async () => {
      await this.#compare([...declared, ...(await this.store.zones(names))]);
      await this.#move(names);
    });
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#using;
  }

  async #compare(zones: Iterable<string>): Promise<void> {
    for (const zone of zones) {
      if (this.#isOver || this.#compared.has(zone) || this.#compared.size >= ZONES_MAX) continue;
      this.#compared.add(zone);
      const message = await this.store.differenceIn(zone);
      if (message !== undefined) this.events.emit('advice', { message, zone });
    }
  }

  /**
   * Moves delays to the time of day that they were computed for, if their zone has changed since.
   * Only with newer zone data: otherwise two nodes would move them back and forth.
   */
  async #move(names: readonly string[]): Promise<void> {
    const { tz: ownTz } = process.versions;
    if (ownTz === undefined) return;
    const found = await this.store.computedElsewhere(ownTz, names);
    const moves = found.flatMap((instant) => {
      const { zone, minutes, tz, dueMs } = instant;
      if (tz >= ownTz || !knowsZone(zone)) return [];
      const toMs = sameWallClock(zone, dueMs, minutes);
      const more = { from: toMs, offset: offsetIn(zone)(toMs), tz: ownTz };
      return toMs === dueMs ? [] : [{ ...instant, toMs, more }];
    });
    const moved = moves.length === 0 ? 0 : await this.store.move(moves, names);
    if (moved === 0) return;
    this.events.emit('advice', {
      message:
        `moved ${moved} recurring delays to the same time of day by the zone data of this node, ${ownTz}: ` +
        'older data had computed when they are due',
    });
  }

  /** Nothing depends on it: what fails is told once. */
  async #tried(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const message = `the rules of time zones were not compared with the database's: ${describeError(error)}`;
      this.events.emit('advice', { message });
    }
  }
}

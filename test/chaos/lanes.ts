import type { Random } from '../../src/random.js';
import type { Fault, World } from './world.js';

/** Faults that happen at the same time, at most. */
const LANES = 2;

const PAUSE_MS = { min: 500, max: 2_000 };

/** Kinds in an order that the seed decides: all of them come before one comes again. */
export class Deck<Card> {
  #left: Card[] = [];

  constructor(
    private readonly cards: readonly Card[],
    private readonly random: Random,
  ) {}

  draw(): Card {
    if (this.#left.length === 0) this.#left = this.#shuffled();
    const card = this.#left.pop();
    if (card === undefined) throw new Error('a deck without cards');
    return card;
  }

  #shuffled(): Card[] {
    const cards = [...this.cards];
    for (let last = cards.length - 1; last > 0; last -= 1) {
      const other = this.random.integer(0, last);
      [cards[last], cards[other]] = [cards[other] as Card, cards[last] as Card];
    }
    return cards;
  }
}

/** Who hears of faults that are over. */
export interface FaultWatch {
  onFault(kind: string, beganAt: Date, endedAt: Date): Promise<void>;
  onBroken(kind: string, error: unknown): void;
}

/** Does faults, two at a time, until it is time to stop; the last ones are done to their end. */
export class Lanes {
  /** Kinds that are being done. */
  readonly under = new Set<string>();
  readonly #deck: Deck<Fault>;

  constructor(
    private readonly faults: readonly Fault[],
    private readonly world: World,
    private readonly random: Random,
    private readonly watch: FaultWatch,
  ) {
    this.#deck = new Deck(faults, random.fork('deck'));
  }

  async run(isOver: () => boolean): Promise<void> {
    if (this.faults.length === 0) return;
    const lanes = Array.from({ length: LANES }, (_, number) => this.#lane(number, isOver));
    await Promise.all(lanes);
  }

  async #lane(number: number, isOver: () => boolean): Promise<void> {
    const own = this.random.fork(`lane ${number}`);
    while (!isOver()) {
      await this.#do(this.#deck.draw(), own);
      await this.world.sleep(own.integer(PAUSE_MS.min, PAUSE_MS.max));
    }
  }

  async #do(fault: Fault, random: Random): Promise<void> {
    const { kind } = fault;
    const beganAt = new Date();
    const entry = `${kind} since ${beganAt.toISOString()}`;
    this.under.add(entry);
    try {
      await fault.run(this.world, random);
    } catch (error) {
      // Stopped in the middle is not broken.
      if ((error as Error).name !== 'AbortError') this.watch.onBroken(kind, error);
    } finally {
      this.under.delete(entry);
    }
    await this.watch.onFault(kind, beganAt, new Date());
  }
}

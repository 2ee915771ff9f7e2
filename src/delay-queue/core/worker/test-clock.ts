import type { ResolvedOptions } from '../config/options.js';
import { DatabaseClock } from '../database/database-clock.js';
import type { TestClockState, TestClockStore } from '../store/test-clock.store.js';

export const isManual = ({ worker }: Pick<ResolvedOptions, 'worker'>): boolean =>
  worker === 'manual';

/**
 * The clock of a node with a `manual` worker, which its statements read (docs/adr/0003). Only a
 * test moves it, and it stands still while handlers run. Readings that come with the answers of
 * statements are ignored.
 */
export class TestClock extends DatabaseClock {
  #state: Omit<TestClockState, 'databaseMs'> = { standsMs: null, isSet: false, aheadMs: 0 };
  readonly #followers = new Set<(nowMs: number) => void>();

  constructor(private readonly store: TestClockStore) {
    super();
  }

  override sample(): void {}

  override nowMs(): number {
    return this.#state.standsMs ?? super.nowMs() + this.#state.aheadMs;
  }

  override afterReading(
    readMs: number,
    heardAtMs: number,
  ): ReturnType<DatabaseClock['afterReading']> {
    const flowing = super.afterReading(readMs, heardAtMs);
    return { readMs, leastMs: () => this.#state.standsMs ?? flowing.leastMs() };
  }

  override toMonotonicMs(databaseMs: number): number {
    return performance.now() + (databaseMs - this.nowMs());
  }

  get isSet(): boolean {
    return this.#state.isSet;
  }

  /** Reads where the clock is: a test may have emptied the schema, another application moved it. */
  async read(): Promise<void> {
    const askedAtMs = performance.now();
    const { databaseMs, ...state } = await this.store.read();
    super.sample(askedAtMs, performance.now(), databaseMs);
    this.#state = state;
  }

  /** @param atMs milliseconds since 1970, a whole number */
  async stand(atMs: number, isSet = this.isSet): Promise<void> {
    await this.store.stand(atMs, isSet);
    this.#state = { standsMs: atMs, isSet, aheadMs: 0 };
    this.#tell();
  }

  /** The clock goes on from where it stands. */
  async flow(): Promise<void> {
    await this.store.flow(this.nowMs());
    await this.read();
    this.#tell();
  }

  /** Removes all data. The clock is then the database's, or stands at that instant. */
  async wipe(atMs: number | undefined): Promise<void> {
    await this.store.wipe();
    if (atMs !== undefined) return this.stand(atMs, true);
    await this.read();
    this.#tell();
  }

  /**
   * @param follower called with the time whenever the clock was moved, before anything runs by it
   * @returns removes the follower
   */
  follow(follower: (nowMs: number) => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  #tell(): void {
    const nowMs = this.nowMs();
    for (const follower of this.#followers) follower(nowMs);
  }
}

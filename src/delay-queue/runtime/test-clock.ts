import { DatabaseClock } from '../database/database-clock.js';
import type { TestClockState, TestClockStore } from '../store/test-clock.store.js';

/**
 * The clock of a node that runs nothing by itself: the one that its statements read (docs/adr/0030). It moves by what a
 * test says alone, and stands while handlers run. What statements tell of it in passing is not news.
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

  /** It stands while handlers run. */
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

  /** A test has said where it stands. */
  get isSet(): boolean {
    return this.#state.isSet;
  }

  /** Learns where it is: a test may have emptied the schema, another application may have moved it. */
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

  /** It goes on from where it stands. */
  async flow(): Promise<void> {
    await this.store.flow(this.nowMs());
    await this.read();
    this.#tell();
  }

  /** Removes all there is. The clock is the database's then, or stands at that instant. */
  async wipe(atMs: number | undefined): Promise<void> {
    await this.store.wipe();
    if (atMs !== undefined) return this.stand(atMs, true);
    await this.read();
    this.#tell();
  }

  /**
   * @param follower hears where it is whenever it was moved, before anything runs by it
   * @returns ends that
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

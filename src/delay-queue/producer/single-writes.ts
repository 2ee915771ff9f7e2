import type { DelayStore } from '../store/delay.store.js';
import type { Placed, NewDelay } from '../store/wire/delay-rows.js';
import type { MoveTo } from '../validation/when.js';
import type { NameAndKey } from './arguments.js';
import type { OwnKeyWrites } from './own-key.js';
import { withFirstInstants } from './recurrence/first-instants.js';
import type { CallersTransaction } from './transaction/callers-transaction.js';
import type { ActingAttempt } from './transaction/handler-context.js';

/**
 * Writes about one delay that travel with no other call: those in a caller's transaction, and what a handler writes
 * about the delay that it runs on. In a transaction they keep the order of the calls about that key.
 */
export class SingleWrites {
  constructor(
    private readonly store: DelayStore,
    private readonly ownKey: OwnKeyWrites,
  ) {}

  /** @throws DelayConflictError, DelayUnstableError */
  async schedule(
    delay: NewDelay,
    { manager, runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
  ): Promise<Placed> {
    return await inOrder([delay], async () => {
      const timed = await withFirstInstants(this.store, runner, [delay]);
      const moved = own && (await this.ownKey.schedule(own, manager, runner, timed[0] as NewDelay));
      if (moved) return moved;
      const placed = await this.store.place(runner, timed);
      return (await this.store.rerun(runner, timed, placed))[0] as Placed;
    });
  }

  /** `cancelled`, `running` or `absent`. */
  async cancel(
    target: NameAndKey,
    { runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
  ): Promise<Placed> {
    const { name, key } = target;
    return await inOrder([target], () => this.store.cancel(runner, name, key, own));
  }

  /** `rescheduled`, `running` or `absent`. */
  async reschedule(
    target: NameAndKey,
    to: MoveTo,
    { manager, runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
  ): Promise<Placed> {
    return await inOrder([target], async () => {
      const moved = own && (await this.ownKey.reschedule(own, manager, runner, to));
      return moved ?? (await this.store.reschedule(runner, target.name, target.key, to));
    });
  }

  /** The revived dead letter, if there was one. */
  async retryDead(
    target: NameAndKey,
    { runner, inOrder }: CallersTransaction,
  ): Promise<Placed | undefined> {
    return await inOrder([target], () => this.store.retryDead(runner, target.name, target.key));
  }
}

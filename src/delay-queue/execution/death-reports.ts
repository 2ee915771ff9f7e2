import type { DeadDelayContext, TransactionalDelayContext } from '../delay/contexts.js';
import type { Delay } from '../delay/delay.js';
import { type DelayEvents, withCause } from '../delay/delay.events.js';
import { describeError } from '../delay/error-text.js';
import type { DeadHandler, Handler } from '../handlers/handler.js';
import { decoded } from '../payloads/payload-codec.js';
import { DelayCodecError } from '../payloads/payload.errors.js';
import type { PayloadReader } from '../payloads/payloads.js';
import { isOf } from '../validation/blame.js';
import type { Acknowledger } from '../settlement/acknowledger.js';
import { deadEvent, endOf } from '../settlement/end-events.js';
import type { DyingClaim, HeldClaim } from '../settlement/held-claim.js';
import { failed, type Outcome } from '../settlement/outcome.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { Completion, DyingRow } from '../store/wire/attempt-rows.js';
import type { Runner } from '../store/wire/runner.js';

export const NO_ATTEMPT_LEFT =
  'no attempt is left, and the last one ended without a word: its process was killed or paused';

/** A method that fails again and again is called after an eighth of the time that its delay is late, within these. */
const AGAIN_MS_MIN = 1_000;
const AGAIN_MS_MAX = 300_000;
const SHARE_OF_LATENESS = 1 / 8;

/** Why a delay dies. */
type Death = Pick<DyingClaim, 'error' | 'cause'>;

/** A handler whose name has a method with `@OnDeadDelay`. */
export type MortalHandler = Handler & { readonly onDead: DeadHandler };

/** That method as a transactional handler, for one call. */
export type DyingHandler = MortalHandler & { readonly death: Death };

/** Writes down and tells how calls of `@OnDeadDelay` ended. */
export class DeathReports {
  constructor(
    private readonly store: AttemptStore,
    private readonly acknowledger: Acknowledger,
    private readonly events: DelayEvents,
  ) {}

  handlerOf(row: DyingRow, handler: MortalHandler, held: DyingClaim | undefined): DyingHandler {
    const { onDead } = handler;
    const error = held?.error ?? row.last_error ?? NO_ATTEMPT_LEFT;
    const death = { error, cause: held?.cause };
    return {
      ...handler,
      death,
      transactional: true,
      batch: null,
      readPayload: readerOf(onDead.readPayload, error),
      invoke: (delay, ctx) => {
        const { manager, signal } = ctx as TransactionalDelayContext;
        const context: DeadDelayContext = { manager, signal, ...death };
        return onDead.invoke(delay as Delay, context);
      },
    };
  }

  /** The last statement of its transaction. @returns the ids of those that are dead letters now */
  async deadLetter(claims: readonly Completion[], runner: Runner): Promise<number[]> {
    const rows = await this.store.retry(
      (claims as readonly (Completion & HeldClaim)[]).map(({ id, epoch, handler }) => ({
        id,
        epoch,
        ...failed(deathOf(handler).error, null),
      })),
      runner,
    );
    return rows.map(({ id }) => id);
  }

  /** What becomes of the delay; that it is no dead letter yet costs it no attempt, and gives it none. */
  report(claim: HeldClaim, outcome: Outcome): void {
    claim.durationMs = performance.now() - claim.calledAtMs;
    this.acknowledger.commits.known(claim, outcome, this.#report);
  }

  readonly #report = (claim: HeldClaim, outcome: Outcome): void => {
    const { error, cause } = deathOf(claim.handler);
    if (outcome.kind === 'lost') return void this.events.emit('lost', claim.event);
    if (outcome.kind === 'completed') {
      this.acknowledger.free(claim);
      if (claim.goesOn !== undefined) this.acknowledger.waits.tell(claim.goesOn);
      if (claim.movedOn) this.events.emit('superseded', endOf(claim));
      else this.events.emit('dead', deadEvent(claim, error, cause));
      return;
    }
    const waitMs = waitAfter(claim, outcome);
    this.acknowledger.putOff(claim, { waitMs, error }, (result) => {
      if (result === 'written') this.#tell(claim, outcome, waitMs);
      else this.events.emit('lost', claim.event);
    });
  };

  #tell(claim: HeldClaim, outcome: Outcome, waitMs: number): void {
    if (outcome.kind === 'released' || outcome.kind === 'aborted') {
      this.events.emit(outcome.kind, claim.event);
    } else if (outcome.kind === 'postponed') {
      this.events.emit('postponed', { ...endOf(claim), waitMs });
    } else if (outcome.kind !== 'unbegun') {
      const cause = causeOf(outcome);
      const { onDead } = claim.handler as DyingHandler;
      const error = `@OnDeadDelay of ${onDead.place}: ${describeError(cause)}`;
      this.events.emit('retrying', withCause({ ...endOf(claim), error, waitMs }, cause));
    }
  }
}

/** Of a claim that is reported here. */
const deathOf = (handler: Handler): Death => (handler as DyingHandler).death;

/** What a delay died of that no node could decode, its method could wait for in vain: it comes without its payload. */
function readerOf(read: PayloadReader | undefined, error: string): PayloadReader | undefined {
  const isUndecodable = error.startsWith(CODEC_ERROR);
  const text = read ?? (isUndecodable ? plainly : undefined);
  if (text === undefined || !isUndecodable) return text;
  return async (...given) => {
    try {
      return await text(...given);
    } catch (failure) {
      if (isOf(failure, DelayCodecError)) return undefined;
      throw failure;
    }
  };
}

const CODEC_ERROR = describeError(new DelayCodecError(''));
const plainly: PayloadReader = (text, owner) => decoded(undefined, text, owner);

function causeOf(outcome: Outcome): unknown {
  if ('error' in outcome) return outcome.error;
  return 'reason' in outcome ? outcome.reason : undefined;
}

function waitAfter({ latenessMs }: HeldClaim, outcome: Outcome): number {
  if (outcome.kind === 'postponed' || outcome.kind === 'unbegun') return outcome.waitMs;
  if (outcome.kind === 'released') return 0;
  const waitMs = latenessMs * SHARE_OF_LATENESS;
  return Math.min(AGAIN_MS_MAX, Math.max(AGAIN_MS_MIN, waitMs));
}

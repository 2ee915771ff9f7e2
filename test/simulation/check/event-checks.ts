import type { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import type { Call } from '../../../src/delay-queue/execution/call/call.js';
import type { AttemptEvent, DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import type { SimNode } from '../cluster/sim-node.js';
import type { Row } from '../postgres/row.js';
import type { Commit, Tables } from '../postgres/tables.js';
import type { World } from '../world.js';

const claimOf = (node: string, id: number | string, attempt: number): string =>
  `${node} ${id} ${attempt}`;

/** Watches what a node says of its attempts: it must be so in the table. */
export class EventChecks {
  /** The attempts of each node whose handlers began. */
  readonly #begun = new WeakMap<SimNode, Attempt[]>();
  /** How often each node claimed a row as the same attempt: what gives an attempt back is claimed again. */
  readonly #claims = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly tables: Tables,
  ) {}

  committed({ changes }: Commit): void {
    for (const { by, after } of changes) {
      if (by !== 'claim' || !after?.leasedBy) continue;
      const claim = claimOf(after.leasedBy, after.id, after.attempts);
      this.#claims.set(claim, (this.#claims.get(claim) ?? 0) + 1);
    }
  }

  begins(node: SimNode, { attempts }: Call): void {
    const begun = this.#begun.get(node);
    if (begun) begun.push(...attempts);
    else this.#begun.set(node, [...attempts]);
  }

  listen(node: SimNode, events: DelayEvents): void {
    const check =
      (what: string, isTrue: (attempt: Attempt) => boolean) => (event: AttemptEvent) => {
        this.world.note(node.name, `${event.name} ${event.id} is ${what}`);
        // An event names no epoch, and a revived delay counts its attempts anew.
        const attempts = this.#attemptsOf(node).filter(
          ({ id, row }) => String(id) === event.id && row.attempts === event.attempt,
        );
        if (attempts.length === 0 || attempts.some((attempt) => isTrue(attempt))) return;
        // It may be about an earlier claim, whose handler never began.
        const claims = this.#claims.get(claimOf(node.name, event.id, event.attempt)) ?? 0;
        if (claims > attempts.length) return;
        this.world.violate(
          `${node.name} says ${what} of ${event.name} ${event.id}, and it is not so`,
        );
      };
    const hasMoved = ({ id, epoch }: Attempt): boolean => this.tables.rows.get(id)?.epoch !== epoch;
    const isOver = (attempt: Attempt): boolean =>
      attempt.leaseEndsAtMs <= node.process.monotonicMs();
    events.on('completed', check('completed', hasMoved));
    events.on('retrying', check('retrying', hasMoved));
    events.on('split', check('split', hasMoved));
    events.on('postponed', check('postponed', hasMoved));
    events.on('released', check('released', hasMoved));
    events.on('superseded', check('superseded', hasMoved));
    events.on(
      'lost',
      check('lost', (attempt) => hasMoved(attempt) || isOver(attempt)),
    );
  }

  /** Rows that an attempt of this node still holds. */
  heldBy(node: SimNode): Row[] {
    const rows = this.#attemptsOf(node).map(({ id, epoch }) => {
      const row = this.tables.rows.get(id);
      return row?.epoch === epoch ? row : undefined;
    });
    return rows.filter((row) => row !== undefined);
  }

  #attemptsOf(node: SimNode): readonly Attempt[] {
    return this.#begun.get(node) ?? [];
  }
}

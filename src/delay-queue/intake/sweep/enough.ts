import type { Intake } from '../intake.js';

/** Which names, and which groups, have had enough at any time of a walk: they get nothing more of it. */
export class Enough {
  readonly #names = new Set<string>();
  readonly #groups = new Map<string, Set<string>>();

  constructor(private readonly intake: Pick<Intake, 'roomFor'>) {}

  /** As `Intake.roomFor`, for all of the walk so far. */
  roomFor(name: string): { butNotOf: string[] } | undefined {
    const room = this.intake.roomFor(name);
    if (room === undefined) this.#names.add(name);
    if (room === undefined || this.#names.has(name)) return undefined;
    const groups = this.#groups.get(name) ?? new Set();
    for (const group of room.butNotOf) groups.add(group);
    this.#groups.set(name, groups);
    return { butNotOf: [...groups] };
  }
}

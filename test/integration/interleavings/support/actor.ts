import type { Act } from './acts.js';

/** One session of a scenario, and what it does there in this order. */
export interface Actor {
  name: string;
  kind: 'caller' | 'node' | 'time';
  acts: readonly Act[];
  /** The name of the node that stands in its leases. */
  nodeName: string;
  /** How its transaction ends; undefined where every statement commits by itself. */
  end?: 'commit' | 'rollback';
  isolation?: 'REPEATABLE READ';
  /** The only code with which Postgres may refuse it. */
  mayHear?: '40001';
}

type Ending = Pick<Actor, 'end' | 'isolation' | 'mayHear'>;

/** A producer. */
export const caller = (name: string, acts: Act | Act[], ending: Ending = {}): Actor => ({
  name,
  nodeName: name,
  kind: 'caller',
  acts: [acts].flat(),
  ...ending,
});

/** A node of the engine, or with another's name one more batch of that one. */
export const node = (
  name: string,
  acts: Act | Act[],
  ending: Ending = {},
  nodeName = name,
): Actor => ({ name, nodeName, kind: 'node', acts: [acts].flat(), ...ending });

/** The passing of time. */
export const time = (act: Act): Actor => ({
  name: 'time',
  nodeName: 'time',
  kind: 'time',
  acts: [act],
});

export const COMMIT = { end: 'commit' } as const;
export const ROLLBACK = { end: 'rollback' } as const;
export const SNAPSHOT = { ...COMMIT, isolation: 'REPEATABLE READ', mayHear: '40001' } as const;

/** Its statements; COMMIT and ROLLBACK are such. */
export const stepsOf = ({ acts, end }: Actor): number =>
  acts.reduce((steps, act) => steps + act.steps, 0) + (end ? 1 : 0);

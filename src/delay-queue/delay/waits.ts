/**
 * What a live delay waits for, as far as the database knows. Where several hold it back, the strongest is told, in this
 * order: its own time (`due`, `retry`) or the attempt that runs, a pause, a node that is missing, a limit, and only then its
 * turn. So a delay that is paused and limited waits for the pause, and one whose time has not come for its time. `until` is
 * null where only a change ends it.
 */
export type DelayWait =
  /** Its time has not come: that of its next attempt with `retry`. */
  | { what: 'due' | 'retry'; until: Date }
  /** It runs on that node, which holds it until then at least. */
  | { what: 'attempt'; node: string; until: Date }
  /** It is due, and its name or its group is paused. Of two pauses the one that ends last. */
  | { what: 'pause'; group: string | null; reason: string | null; since: Date; until: Date | null }
  /** It is due, and no live node serves its name. */
  | { what: 'node'; since: Date }
  /**
   * It is due, and a limit of its name (group: null) or of its group is used up: since when each claim has found it so,
   * and until when by its rate; null: until an attempt ends. Of two limits that of the name.
   */
  | { what: 'limit'; group: string | null; since: Date; until: Date | null }
  /** It is due, and nothing above holds it: the next free place of its handlers, or they are slow or hang. */
  | { what: 'turn'; since: Date };

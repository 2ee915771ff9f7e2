/** What it is like between one process and the server; its proxy changes it, every flow looks at it. */
export interface Weather {
  /** From a chunk's arrival to its delivery. */
  delayMs: number;
  /** Nothing passes, in neither direction. */
  isStill: boolean;
}

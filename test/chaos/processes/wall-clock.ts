let shiftMs = 0;
const RealDate = Date;

/** The wall clock of this process alone, and not the monotonic one: what setting a clock does. */
class ShiftedDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [RealDate.now() + shiftMs] : given) as [number]));
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

/** From now on `Date` is off by so much more. */
export function shiftWallClock(byMs: number): void {
  shiftMs += byMs;
  globalThis.Date = ShiftedDate as DateConstructor;
}

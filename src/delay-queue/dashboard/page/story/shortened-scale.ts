/** From an instant to its place, 0 to 1. */
export type Scale = (iso: string) => number;

/** A gap of this length is one unit wide; a gap of a day is 22. */
const UNIT_MS = 20;

/**
 * A scale on which the width of each gap is the logarithm of its length, so that events within a second
 * stay apart even beside a wait of days.
 *
 * @param instants ISO; what is none is left out
 */
export function shortenedScale(instants: readonly (string | null)[]): Scale {
  const known = instants.map((at) => Date.parse(at ?? '')).filter((ms) => !Number.isNaN(ms));
  const marks = [...new Set(known)].toSorted((a, b) => a - b);
  const places = [0];
  for (const [at, ms] of marks.entries()) {
    if (at > 0) places.push(places[at - 1]! + Math.log2(1 + (ms - marks[at - 1]!) / UNIT_MS));
  }
  const width = places.at(-1)! || 1;
  return (iso) => {
    const ms = Date.parse(iso);
    const next = marks.findIndex((mark) => mark >= ms);
    if (next === -1) return 1;
    if (next === 0) return 0;
    const [from, to] = [marks[next - 1]!, marks[next]!];
    const part = (ms - from) / (to - from);
    return (places[next - 1]! + part * (places[next]! - places[next - 1]!)) / width;
  };
}

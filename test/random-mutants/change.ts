/** One small change to a source of the library. */
export interface Change {
  /** From the root of the repository. */
  file: string;
  /** Where it stands: offsets in the source. */
  start: number;
  end: number;
  to: string;
  /** What kind of change that is, for the report. */
  kind: string;
}

/** Says which one it is when the source above it has grown: by its lines' texts. */
export interface Description {
  file: string;
  line: number;
  was: string;
  is: string;
}

export const apply = (text: string, { start, end, to }: Change): string =>
  text.slice(0, start) + to + text.slice(end);

/** The lines that a change touches, before and after it. */
export function describe(text: string, change: Change): Description {
  const { file, start, end, to } = change;
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const until = (text.indexOf('\n', end) + 1 || text.length + 1) - 1;
  const line = text.slice(0, start).split('\n').length;
  const was = oneLine(text.slice(from, until));
  const is = oneLine(text.slice(from, start) + to + text.slice(end, until));
  return { file, line, was, is };
}

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');

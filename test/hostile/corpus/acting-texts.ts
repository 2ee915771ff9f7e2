/** Each acts on whatever shows it: breaks a line, moves a cursor, names a window, turns the direction, cannot be seen. */
const ACTS = [
  '\n',
  '\r',
  '\u001b[2J',
  '\u001b]0;paid\u0007',
  '\u009b31m',
  '\u009d0;x\u009c',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u202e',
  '\u2066',
  '\u200e',
  '\u061c',
  '\u200b',
  '\ufeff',
  '\u{e0041}',
];
/** Begins a line as Nest's log does. */
export const FORGED = '[Nest] 1 LOG paid';
export const HOSTILE = ACTS.map((acts) => `a${acts}${FORGED}`);

/** Of a line of the log; a frame stands on a line of its own. */
export const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
export const isHarmless = (said: string): boolean =>
  said.split('\n').every((line, at) => !ACTING.test(line) && (at === 0 || /^ {4}at /.test(line)));

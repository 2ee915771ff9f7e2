import { printable } from 'nestjs-delay-queue';

// oxlint-disable-next-line no-control-regex -- that is what acts
const COLOURS = /(\u001b\[[\d;]*m)/;

/**
 * For a terminal: keeps the shop's own line breaks and colors, and escapes everything else that
 * acts. Texts of customers have been made one line before.
 */
export const shown = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => line.split(COLOURS).map(shownPart).join(''))
    .join('\n');

const shownPart = (text: string, at: number): string => (at % 2 === 0 ? printable(text) : text);

/** For a page, and for readers of the raw answer: no text in it acts. */
export const shownJson = (data: object): string =>
  JSON.stringify(data, (_, value: unknown) =>
    typeof value === 'string' ? printable(value) : value,
  );

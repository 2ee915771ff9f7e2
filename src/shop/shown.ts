import { printable } from 'nestjs-delay-queue';

// oxlint-disable-next-line no-control-regex -- that is what acts
const COLOURS = /(\u001b\[[\d;]*m)/;

/**
 * For a terminal: the line breaks and colours are the shop's own, and whatever else acts is written as an escape. Lines that
 * were made of a customer's text have been made one line before.
 */
export const shown = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => line.split(COLOURS).map(shownPart).join(''))
    .join('\n');

const shownPart = (text: string, at: number): string => (at % 2 === 0 ? printable(text) : text);

/** For a page, and for who reads an answer as it comes: no text in it acts. */
export const shownJson = (data: object): string =>
  JSON.stringify(data, (_, value: unknown) =>
    typeof value === 'string' ? printable(value) : value,
  );

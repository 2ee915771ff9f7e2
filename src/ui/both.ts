/** A text in English and in Chinese; or a record of texts, where each language has its own. */
export type Both<Text = string> = readonly [en: Text, zh: Text];

/** Texts by their name; one with parts is a function of them. */
interface Texts {
  readonly [name: string]: Both<unknown> | ((...parts: never[]) => Both) | Texts | undefined;
}

/** The same in one language. */
export type Said<Text> =
  Text extends Both<infer Its>
    ? Its
    : Text extends (...parts: infer Parts) => Both
      ? (...parts: Parts) => string
      : { [Name in keyof Text]: Said<Text[Name]> };

export const both = (en: string, zh: string): Both => [en, zh];

/** Counted in English, where it matters. */
export const plural = (n: string | number, one: string, many: string): string =>
  `${n} ${String(n) === '1' ? one : many}`;

/** @param at 0: English; 1: Chinese */
export function said<All extends Texts>(texts: All, at: 0 | 1): Said<All> {
  const one = (text: Texts[string]): unknown => {
    if (typeof text === 'function') return (...parts: never[]) => text(...parts)[at];
    return Array.isArray(text) ? text[at] : text && said(text as Texts, at);
  };
  const all = Object.entries(texts).map(([name, text]) => [name, one(text)] as const);
  return Object.fromEntries(all) as Said<All>;
}

import { parameter } from '../address/address.js';
import { words } from '../words/language.js';

interface PagesProps {
  /** Where the next page begins; `null`: this is the last one. */
  next: string | null;
  href: (after?: string) => string;
  /** What leads back to the first page; without it, nothing does. */
  first?: string;
  more: string;
}

/** Links to the first page and to the next one, where there are any. */
export function Pages({ next, href, first, more }: PagesProps) {
  const isFirst = first === undefined || parameter('after') === '';
  if (isFirst && next === null) return null;
  return (
    <nav class="pages" aria-label={words.value.pages.label}>
      {!isFirst && (
        <a class="button" href={href()}>
          {first}
        </a>
      )}
      {next !== null && (
        <a class="button" rel="next" href={href(next)}>
          {more}
        </a>
      )}
    </nav>
  );
}

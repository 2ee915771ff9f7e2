import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** @returns what axe finds: the rule, an element, and why */
export async function violationsOn(page: Page): Promise<unknown[]> {
  const found = await page.evaluate<Violation[]>(
    `${axe.source}; axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations)`,
  );
  return found.map(({ id, nodes }) => [id, nodes[0]?.html, nodes[0]?.failureSummary]);
}

/** By how many pixels the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('Math.max(0, document.documentElement.scrollWidth - innerWidth)');

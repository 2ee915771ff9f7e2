import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/api-tables/declarations.js';
import { cronIn, parseRepeat } from '../support/option-checks.js';

/** Its first three days from 2027 on; undefined: it is refused. */
function daysOf(cron: string): string[] | undefined {
  try {
    parseRepeat({ cron }, 'repeat');
  } catch {
    return undefined;
  }
  const days: string[] = [];
  let ms: number | undefined = Date.UTC(2027, 0, 1);
  for (let times = 0; times < 3; times += 1) {
    ms = cronIn(cron, 'UTC').after(ms!);
    days.push(new Date(ms!).toUTCString().slice(0, 11).replace(',', ''));
  }
  return days;
}

/** By what the document says of a text here. */
const MEANS: Readonly<Record<string, string[]>> = {
  'last workday': ['Fri 29 Jan', 'Fri 26 Feb', 'Wed 31 Mar'],
  'the 13th, and Saturdays': ['Sat 02 Jan', 'Sat 09 Jan', 'Wed 13 Jan'],
};

/** What the document says to write instead. */
const INSTEAD: Readonly<Record<string, string[]>> = {
  '0 0 12 ? * MON': ['Mon 04 Jan', 'Mon 11 Jan', 'Mon 18 Jan'],
  '0 0 12 ? * TUE': ['Tue 05 Jan', 'Tue 12 Jan', 'Tue 19 Jan'],
  '0 15 10 ? * FRIL': ['Fri 29 Jan', 'Fri 26 Feb', 'Fri 26 Mar'],
  '0 15 10 ? * FRI#3': ['Fri 15 Jan', 'Fri 19 Feb', 'Fri 19 Mar'],
  '0 0 12 1-31/5 * ?': ['Fri 01 Jan', 'Wed 06 Jan', 'Mon 11 Jan'],
};

it('a cron text means what the recipe says, or is refused', () => {
  const recipe = readFileSync(join(ROOT, 'docs/recipes/recurring-work.md'), 'utf8');
  const [, table = ''] = recipe.split(/## Cron texts from elsewhere|## Deploys/);
  const rows = [...table.matchAll(/^\| `([^`]+)` +\| ([^|]+?) +\|/gm)];
  expect(rows).toHaveLength(8);
  for (const [, cron, here] of rows) expect([cron, daysOf(cron!)]).toEqual([cron, MEANS[here!]]);
  for (const [cron, days] of Object.entries(INSTEAD)) expect(daysOf(cron)).toEqual(days);
});

it.each([
  ['0 12 ? * 1-5', true],
  ['0 12 ? * MON,3', true],
  ['0 12 ? * MON-FRI/2', false],
  ['0 12 13 * 5', false],
])('the number of a weekday beside ?: %s is refused: %s', (cron, isRefused) => {
  expect(daysOf(cron) === undefined).toBe(isRefused);
});

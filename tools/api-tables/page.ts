import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, type FormatConfig } from 'oxfmt';
import { Declarations, ROOT } from './declarations.js';
import { type Table, TABLES } from './tables.js';

/** As `npm run format` has it. */
const STYLE: FormatConfig = JSON.parse(readFileSync(join(ROOT, '.oxfmtrc.json'), 'utf8'));

/** The page whose tables are written from the declarations. */
export const PAGE = join(ROOT, 'docs/api.md');

const GENERATED = /(<!-- generated: ([\w-]+) -->)[\s\S]*?(<!-- \/generated -->)/g;

/** The page as it is. */
export const writtenPage = (): string => readFileSync(PAGE, 'utf8');

/** The page as it has to be: what stands between the markers is written anew, formatted as all pages are. */
export async function generatedPage(written: string = writtenPage()): Promise<string> {
  const declarations = new Declarations();
  const missing = new Set(Object.keys(TABLES));
  const page = written.replaceAll(GENERATED, (_all, begin: string, name: string, end: string) => {
    missing.delete(name);
    const table = TABLES[name];
    if (table === undefined) throw new Error(`docs/api.md: there is no table ${name}`);
    return `${begin}\n\n${markdown(table(declarations))}\n\n${end}`;
  });
  if (missing.size > 0) {
    throw new Error(`docs/api.md has no place for ${[...missing].join(', ')}`);
  }
  const { code, errors } = await format(PAGE, page, STYLE);
  if (errors.length > 0)
    throw new Error(`docs/api.md: ${errors.map(({ message }) => message).join('; ')}`);
  return code;
}

const markdown = ([header = [], ...rows]: Table): string =>
  [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');

const line = (cells: string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;

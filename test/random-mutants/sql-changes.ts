/** A change to a piece of SQL: offsets within it. */
export interface SqlChange {
  start: number;
  end: number;
  to: string;
  kind: string;
}

interface Rule {
  kind: string;
  find: RegExp;
  /** By what was found; undefined: leave it. */
  to: (found: string, before: string) => string | undefined;
}

const swap =
  (...pairs: readonly (readonly [string, string])[]) =>
  (found: string): string | undefined =>
    pairs.flatMap(([one, other]) => (found === one ? [other] : found === other ? [one] : []))[0];

/** Of an assignment the sign says no condition. */
const isAssigned = (before: string): boolean =>
  /\bSET\b(?:(?!\b(?:WHERE|FROM|WHEN|ON)\b)[^;])*$|(?:^|[,\n`])\s*\w+\s+$/s.test(before);

const RULES: readonly Rule[] = [
  { kind: 'sql bound', find: /(?<=\s)(?:<=|>=|<|>)(?=\s)/g, to: swap(['<', '<='], ['>', '>=']) },
  {
    kind: 'sql comparison',
    find: /(?<=\s)(?:=|<>)(?=\s)/g,
    to: (found, before) => (isAssigned(before) ? undefined : swap(['=', '<>'])(found)),
  },
  {
    kind: 'sql logic',
    find: /\b(?:AND|OR)\b/g,
    to: (found, before) =>
      /BETWEEN[^\n]*$|CREATE\s*$/.test(before) ? undefined : swap(['AND', 'OR'])(found),
  },
  { kind: 'sql order', find: /\bDESC\b/g, to: () => 'ASC' },
  { kind: 'sql exists', find: /\bNOT EXISTS\b/g, to: () => 'EXISTS' },
  {
    kind: 'sql exists',
    find: /\bEXISTS\b(?= \()/g,
    to: (_, before) => (/(?:NOT|IF)\s+$/.test(before) ? undefined : 'NOT EXISTS'),
  },
  {
    kind: 'sql null',
    find: /\bIS (?:NOT )?NULL\b/g,
    to: swap(['IS NULL', 'IS NOT NULL']),
  },
  {
    kind: 'sql null',
    find: /\bIS (?:NOT )?DISTINCT FROM\b/g,
    to: swap(['IS DISTINCT FROM', 'IS NOT DISTINCT FROM']),
  },
  { kind: 'sql bound', find: /\b(?:least|greatest)\b/g, to: swap(['least', 'greatest']) },
  { kind: 'sql bound', find: /\b(?:min|max)(?=\()/g, to: swap(['min', 'max']) },
  { kind: 'sql arithmetic', find: /(?<=\s)[+-](?=\s)/g, to: swap(['+', '-']) },
  { kind: 'sql lock', find: /\bFOR (?:NO KEY )?UPDATE[^\n`)]*/g, to: () => '' },
  { kind: 'sql lock', find: /\bSKIP LOCKED\b/g, to: () => '' },
  { kind: 'sql join', find: /\bLEFT JOIN\b/g, to: () => 'JOIN' },
  { kind: 'sql truth', find: /\b(?:true|false)\b/g, to: swap(['true', 'false']) },
  { kind: 'sql number', find: /(?<![\w$.{])\d+(?![\w.}])/g, to: (n) => String(Number(n) + 1) },
  {
    kind: 'sql condition dropped',
    find: /(?<=\n)[ \t]*(?:AND|OR) [^\n]*(?=\n)/g,
    to: (line) => (isBalanced(line) ? '' : undefined),
  },
];

function isBalanced(line: string): boolean {
  let depth = 0;
  for (const character of line) {
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

const isComment = (before: string): boolean => /--[^\n]*$/.test(before);

export function changesInSql(sql: string): SqlChange[] {
  return RULES.flatMap(({ kind, find, to }) =>
    [...sql.matchAll(find)].flatMap(({ index, 0: found }) => {
      const before = sql.slice(0, index);
      const text = isComment(before) ? undefined : to(found, before);
      return text === undefined
        ? []
        : [{ start: index, end: index + found.length, to: text, kind }];
    }),
  );
}

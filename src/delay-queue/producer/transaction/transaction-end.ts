/** Most statements have none of these words, and need not be taken apart. */
const SUSPICIOUS = /\b(?:commit|end|rollback|abort|prepare)\b/i;

/** The parts of a statement that may hold any word: comments, texts, quoted names, dollar quotes. */
const QUOTED =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\be'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$/gi;

/** The body of such a function has semicolons, and an END that does not end the transaction. */
const FUNCTION_BODY = /\bbegin\s+atomic\b/i;

const ENDS =
  /^\s*(?:(commit|end|abort)\b|(rollback)\b(?!\s+(?:(?:work|transaction)\s+)?to\b)|(prepare)\s+transaction\b)/i;

/**
 * The command by which an SQL text, of one statement or of several, would end the transaction that it runs
 * in: `COMMIT`, `END`, `ROLLBACK` (not `ROLLBACK TO`), `ABORT` or `PREPARE TRANSACTION`. Undefined when there
 * is none.
 */
export function transactionEndIn(sql: string): string | undefined {
  if (!SUSPICIOUS.test(sql)) return undefined;
  const bare = sql.replaceAll(QUOTED, ' ');
  for (const statement of bare.split(';')) {
    const [, end, rollback, prepare] = ENDS.exec(statement) ?? [];
    const command = (end ?? rollback ?? prepare)?.toUpperCase();
    if (command === 'END' && FUNCTION_BODY.test(bare)) continue;
    if (command === 'PREPARE') return 'PREPARE TRANSACTION';
    if (command !== undefined) return command;
  }
  return undefined;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const STEP = '  ';
/** These characters reorder the text around them, or are invisible. */
const UNSEEN = /[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * JSON on several lines. The text is tokenized, never parsed, so numbers beyond 2⁵³ and repeated fields
 * survive. Characters that could make it read as something else are escaped.
 */
export function indented(json: string): string {
  const tokens = json.replaceAll(UNSEEN, escaped).match(TOKEN) ?? [];
  let written = '';
  let depth = 0;
  const line = (): string => `\n${STEP.repeat(depth)}`;
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1];
    const isEmpty = before === '{' || before === '[';
    if (token === '}' || token === ']') {
      depth -= 1;
      written += isEmpty ? token : line() + token;
    } else if (token === ',') written += ',';
    else if (token === ':') written += ': ';
    else {
      written += (isEmpty || before === ',' ? line() : '') + token;
      if (token === '{' || token === '[') depth += 1;
    }
  }
  return written;
}

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

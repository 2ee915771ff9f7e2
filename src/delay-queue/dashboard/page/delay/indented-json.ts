const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const STEP = '  ';

/**
 * JSON on several lines. Its text is taken apart, never parsed: numbers beyond 2⁵³ and repeated
 * fields stay as they are.
 */
export function indented(json: string): string {
  const tokens = json.match(TOKEN) ?? [];
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

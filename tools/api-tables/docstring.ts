import ts from 'typescript';

/** What a docstring says. */
export interface Doc {
  /** Its first paragraph, in one line; what comes after it is for the editor alone. */
  text: string;
  /** The texts of its tags: `default`, `range`, `see`, `returns`. */
  tags: ReadonlyMap<string, string>;
}

export function docOf(node: ts.Node): Doc {
  const parts = ts.getJSDocCommentsAndTags(node).filter((part) => ts.isJSDoc(part));
  const doc = parts.at(-1);
  const comment = ts.getTextOfJSDocComment(doc?.comment) ?? '';
  const [paragraph = ''] = comment.split(/\n\s*\n/);
  const tags = (doc?.tags ?? []).map((tag): [string, string] => [
    tag.tagName.text,
    inOneLine(tag.getText().replace(/^@\w+/, '')),
  ]);
  return { text: inOneLine(paragraph), tags: new Map(tags) };
}

/** Without the stars of the lines; a link to a name is that name. */
const inOneLine = (text: string): string =>
  text
    .replaceAll(/\n\s*\*(?!\/) ?/g, '\n')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .trim();

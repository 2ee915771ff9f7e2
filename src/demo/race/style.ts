export interface Style {
  good(text: string): string;
  bad(text: string): string;
}

const plain = (text: string): string => text;

/** Colors only on a terminal, and only where they are wanted. */
export function styleFor(out: NodeJS.WriteStream, env: NodeJS.ProcessEnv = process.env): Style {
  if (!out.isTTY || env.NO_COLOR) return { good: plain, bad: plain };
  return {
    good: (text) => `\u001B[32m${text}\u001B[39m`,
    bad: (text) => `\u001B[31m${text}\u001B[39m`,
  };
}

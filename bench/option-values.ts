/** The command line cannot be understood; the message says why. */
export class UsageError extends Error {}

/** @throws UsageError */
export function whole(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${option} takes a whole number from ${least}, not '${text}'.`);
}

/** @throws UsageError */
export const wholes = (option: string, text: string, least: number): number[] =>
  text.split(',').map((part) => whole(option, part, least));

/** @throws UsageError */
export const words = <Word extends string>(
  option: string,
  text: string,
  known: readonly Word[],
): readonly Word[] =>
  text.split(',').map((part) => {
    const word = known.find((each) => each === part);
    if (word !== undefined) return word;
    throw new UsageError(`--${option} takes some of ${known.join(', ')}, not '${part}'.`);
  });

/** What stands between commas; nothing: an empty list. */
export const listed = (text: string): string[] => text.split(',').filter((part) => part !== '');

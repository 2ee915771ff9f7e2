/** A piece of a source, which stands there exactly once, and what stands there instead. */
export interface SourcePatch {
  /** From the root of the repository. */
  file: string;
  from: string;
  to: string;
}

/**
 * @param filename absolute
 * @param patches those of `SOURCE_PATCHES`, if left out
 * @throws when what is to be replaced does not stand there exactly once
 */
export function patchSource(
  source: string,
  filename: string,
  patches?: readonly SourcePatch[],
): string;

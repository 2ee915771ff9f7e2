import { expect, it } from '@jest/globals';

/** One hostile thing; `what` is the name of its test. */
export interface Case {
  what: string;
}

/** A test for each case of a corpus, and one that counts them: none may be left out on the way. */
export function everyCase<Kind extends Case>(
  corpus: readonly Kind[],
  run: (hostile: Kind) => Promise<void>,
): void {
  const ran = new Set<string>();
  for (const hostile of corpus) {
    // oxlint-disable-next-line jest/expect-expect, jest/valid-title -- `run` expects; a text, see Case
    it(hostile.what, async () => {
      ran.add(hostile.what);
      await run(hostile);
    });
  }
  it(`and that was all ${corpus.length} of them`, () => {
    expect([...ran]).toEqual(corpus.map(({ what }) => what));
  });
}

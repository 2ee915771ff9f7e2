/**
 * Every merge of scripts with so many steps each, as a list of whose turn it is: `[2, 1]` has three
 * (`001`, `010`, `100`). Each keeps the order within a script, and no other order does.
 */
export function* merges(steps: readonly number[]): Generator<number[]> {
  if (steps.every((left) => left === 0)) {
    yield [];
    return;
  }
  for (const [turn, left] of steps.entries()) {
    if (left === 0) continue;
    for (const rest of merges(steps.with(turn, left - 1))) yield [turn, ...rest];
  }
}

/** True only of one and the same type. */
// oxlint-disable typescript/no-unnecessary-type-parameters -- how one asks the compiler
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if `answer` says whether both are the same type. */
export const same = <A, B>(answer: Same<A, B>): boolean => answer;

/** Compiles only if the value is of that type. */
export const fits = <T>(value: T): T => value;

import { jest } from '@jest/globals';

// oxlint-disable-next-line typescript/no-explicit-any -- of whatever method
type Method = (...given: any[]) => unknown;

/** Of a property that is one. */
type MethodOf<Self, Name extends keyof Self> = Self[Name] extends Method ? Self[Name] : never;

/** A call of a method that somebody stands in front of. */
interface Intercepted<Self, Real extends Method> {
  /** The method, on its object, with what it was given. */
  real: (...given: Parameters<Real> | []) => ReturnType<Real>;
  given: Parameters<Real>;
  self: Self;
}

type MethodsOf<Self> = {
  [Name in keyof Self]: Self[Name] extends Method ? Name : never;
}[keyof Self];

/**
 * Stands in front of a method of all objects of a class, until `jest.restoreAllMocks()`.
 * @param times how many calls it is for; the others go through
 */
export function intercept<Self extends object, Name extends MethodsOf<Self>>(
  prototype: Self,
  name: Name,
  act: (call: Intercepted<Self, MethodOf<Self, Name>>) => ReturnType<MethodOf<Self, Name>>,
  times = Infinity,
): { calls: readonly Parameters<MethodOf<Self, Name>>[] } {
  const current = prototype[name] as Method;
  // Somebody may stand there already: a second spy is the first one.
  const method = jest.isMockFunction(current)
    ? (current.getMockImplementation() as Method)
    : current;
  let left = times;
  const spy = jest.spyOn(prototype as Record<string, Method>, name as string);
  spy.mockImplementation(function intercepted(this: Self, ...given: unknown[]) {
    if (left === 0) return method.apply(this, given);
    left -= 1;
    const real = (...other: unknown[]) => method.apply(this, other.length > 0 ? other : given);
    return act({ real, given, self: this } as never);
  } as never);
  return spy.mock as never;
}

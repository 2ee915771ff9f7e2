import type { DynamicModule } from '@nestjs/common';
import { Scanner } from '../../src/delay-queue/core/worker/scanner.js';
import { BUILT, type Built } from '../../src/delay-queue/core/worker/context.js';

const RARE_MS = 3_600_000;

// oxlint-disable-next-line typescript/no-explicit-any -- of whatever class
type Class<Part> = abstract new (...given: any[]) => Part;
// oxlint-disable-next-line typescript/no-explicit-any -- of whatever method
type Method = (...given: any[]) => unknown;

/** Of a property that is one. */
type MethodOf<Part, Name extends keyof Part> = Part[Name] extends Method ? Part[Name] : never;

type MethodsOf<Part> = {
  [Name in keyof Part]: Part[Name] extends Method ? Name : never;
}[keyof Part];

/** A call of a method that a test stands in front of. */
interface Intercepted<Part, Real extends Method> {
  /** The method, on its object, with what it was given. */
  real: (...given: Parameters<Real> | []) => ReturnType<Real>;
  given: Parameters<Real>;
  self: Part;
}

type Act<Part, Real extends Method> = (call: Intercepted<Part, Real>) => ReturnType<Real>;

/** What came through an interception, by the order of the calls. */
export interface Witnessed<Real extends Method> {
  readonly calls: Parameters<Real>[];
  /** What each call was answered; a promise where the method returns one. */
  readonly answers: ReturnType<Real>[];
}

interface Interception {
  of: Class<object>;
  name: PropertyKey;
  act: Act<object, Method>;
  left: number;
  seen: { calls: unknown[][]; answers: unknown[] };
}

/**
 * Stands in front of methods of the parts of one node, or of the nodes that one test starts, and of no other node. Give
 * it to the node as `parts`. What is asked for before a part is built acts on it from its beginning.
 */
export class Parts {
  readonly #built: object[] = [];
  readonly #changes: { of: Class<object>; change: (part: object) => void }[] = [];
  #interceptions: Interception[] = [];

  /**
   * Later interceptions of a method come before earlier ones, which are their `real`.
   * @param times how many calls it is for; the others go through
   */
  intercept<Part extends object, Name extends MethodsOf<Part>>(
    of: Class<Part>,
    name: Name,
    act: Act<Part, MethodOf<Part, Name>> = ({ real }) => real(),
    times = Infinity,
  ): Witnessed<MethodOf<Part, Name>> {
    const seen = { calls: [], answers: [] };
    this.#interceptions.push({ of, name, act: act as never, left: times, seen });
    this.#change(of, (part) => this.#standBefore(part, name));
    return seen;
  }

  /** Replaces a property, or what a getter reads. */
  replace<Part extends object, Name extends keyof Part>(
    of: Class<Part>,
    name: Name,
    read: (self: Part) => Part[Name],
  ): void {
    const get = function get(this: Part): Part[Name] {
      return read(this);
    };
    this.#change(of, (part) => Object.defineProperty(part, name, { configurable: true, get }));
  }

  /** No pass of the scanner comes because it is time for one, so that something else finds what is due. */
  makeSweepsRare(): this {
    this.replace(Scanner, 'everyMs', () => RARE_MS);
    return this;
  }

  /** Ends all interceptions; what was replaced stays. */
  letGo(): void {
    this.#interceptions = [];
  }

  /** @param module of `DelayQueueModule.forRoot()` */
  in(module: DynamicModule): DynamicModule {
    const built: Built = (...parts) => {
      for (const part of parts) {
        if (typeof part !== 'object' || part === null) continue;
        this.#built.push(part);
        for (const { of, change } of this.#changes) if (part instanceof of) change(part);
      }
    };
    // Of two providers of one token the later one counts.
    const seam = { provide: BUILT, useValue: built };
    return { ...module, providers: [...(module.providers ?? []), seam] };
  }

  #change<Part extends object>(of: Class<Part>, change: (part: Part) => void): void {
    this.#changes.push({ of, change: change as never });
    for (const part of this.#built) if (part instanceof of) change(part);
  }

  #standBefore(part: object, name: PropertyKey): void {
    if (Object.hasOwn(part, name)) return;
    const method = Reflect.get(part, name) as Method;
    const call = (given: unknown[], among: readonly Interception[]): unknown => {
      const last = among.findLastIndex((each) => each.name === name && part instanceof each.of);
      const interception = among[last];
      if (interception === undefined) return method.apply(part, given);
      const behind = among.slice(0, last);
      const { seen, act } = interception;
      const at = seen.calls.push(given) - 1;
      const real = (...other: unknown[]) => call(other.length > 0 ? other : given, behind);
      const passes = interception.left === 0;
      if (!passes) interception.left -= 1;
      const answer = passes ? real() : act({ real, given, self: part } as never);
      seen.answers[at] = answer;
      return answer;
    };
    const stands = (...given: unknown[]): unknown => call(given, this.#interceptions);
    Object.defineProperty(part, name, { configurable: true, writable: true, value: stands });
  }
}

/** Why a part of a payload cannot be stored. No value has this type, so the compiler shows the reason. */
export interface NotStorable<Why extends string> {
  readonly __cannotBeStored: Why;
}

/**
 * The type `T` as a payload: `T` itself where it is plain JSON, and {@link NotStorable} in place of each
 * part that is not. `schedule` looks at the value as well, since a type may say less than there is.
 *
 * Optional members are fine as long as they are left out; `undefined` that is handed over is refused.
 * The compiler sees that with `exactOptionalPropertyTypes`, the run time in any case.
 */
export type Storable<T> = T extends StorableParts<T> ? T : StorableParts<T>;

/** Plain JSON, as far as one alias can say it: interfaces and optional members are looked at one by one. */
export type PlainJson =
  | string
  | number
  | boolean
  | null
  | readonly PlainJson[]
  | { readonly [member: string]: PlainJson };

/** {@link Storable}, part by part. */
export type StorableParts<T> = 0 extends 1 & T // any
  ? T
  : T extends PlainJson
    ? T
    : T extends undefined
      ? NotStorable<'undefined: leave it out or send null'>
      : T extends bigint
        ? NotStorable<'a bigint: send it as a string'>
        : T extends symbol
          ? NotStorable<'a symbol'>
          : T extends (...args: never[]) => unknown
            ? NotStorable<'a function'>
            : T extends Date
              ? NotStorable<'a Date: send date.toISOString()'>
              : T extends ReadonlyMap<unknown, unknown>
                ? NotStorable<'a Map: send Object.fromEntries(map)'>
                : T extends ReadonlySet<unknown>
                  ? NotStorable<'a Set: send [...set]'>
                  : T extends object
                    ? StorableMembers<T>
                    : T;

/** Homomorphic, so that arrays stay arrays and optional members optional. */
export type StorableMembers<T extends object> = {
  [K in keyof T]: undefined extends T[K]
    ? Partial<Pick<T, K>> extends Pick<T, K>
      ? StorableParts<Exclude<T[K], undefined>>
      : StorableParts<T[K]>
    : StorableParts<T[K]>;
};

/**
 * What handlers get where a schema makes something else of the payload than what is scheduled, by augmentation as
 * `DelayPayloads`:
 *
 * ```ts
 * declare module 'nestjs-delay-queue' {
 *   interface ParsedPayloads {
 *     'order.close': z.output<typeof closing>;
 *   }
 * }
 * ```
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- exists to be augmented
export interface ParsedPayloads {}

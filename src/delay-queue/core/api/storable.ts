/** Why a part of a payload cannot be stored. No value has this type, so compiler errors show it. */
export interface NotStorable<Why extends string> {
  readonly __cannotBeStored: Why;
}

/**
 * `T` as a payload: `T` itself where it is plain JSON, {@link NotStorable} for each part that is not.
 * `schedule` checks the value as well. Omit optional members without a value: `undefined` is refused.
 */
export type Storable<T> = T extends StorableParts<T> ? T : StorableParts<T>;

/** Plain JSON, as much as one alias can say. Interfaces and optional members are checked apart. */
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

/** Homomorphic: arrays stay arrays, optional members stay optional. */
export type StorableMembers<T extends object> = {
  [K in keyof T]: undefined extends T[K]
    ? Partial<Pick<T, K>> extends Pick<T, K>
      ? StorableParts<Exclude<T[K], undefined>>
      : StorableParts<T[K]>
    : StorableParts<T[K]>;
};

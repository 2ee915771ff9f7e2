import * as testing from 'nestjs-delay-queue/testing';
import * as library from 'nestjs-delay-queue';

/** Each error class tells the name that it is exported under, also when a minifier has renamed it. */
for (const [name, exported] of Object.entries({ ...library, ...testing })) {
  if (typeof exported !== 'function' || !(exported.prototype instanceof Error)) continue;
  const made =
    exported.prototype instanceof library.DelayError
      ? Object.create(exported.prototype)
      : new (exported as new (why: string) => Error)('1h');
  if (made.name !== name) throw new Error(`${name} says that it is ${made.name}`);
}

import * as testing from 'nestjs-delay-queue/testing';
import * as library from 'nestjs-delay-queue';

/** Each error class tells the name that it is exported under, also when a minifier has renamed it. */
for (const [name, exported] of Object.entries({ ...library, ...testing })) {
  if (typeof exported !== 'function' || !(exported.prototype instanceof Error)) continue;
  // `DelayError` itself is abstract; others take a text or a list.
  if (exported === library.DelayError) continue;
  const made =
    name === 'DelayPayloadError' ? new library.DelayPayloadError([]) : construct(exported);
  if (made.name !== name) throw new Error(`${name} says that it is ${made.name}`);
}

function construct(exported: object): Error {
  return new (exported as new (...given: string[]) => Error)('1h', '1h');
}

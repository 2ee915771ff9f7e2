/**
 * The error of a statement that many calls shared, as an object of this call's own: whoever catches
 * it may change it, and its stack leads to the caller. Class, message and fields are the same.
 *
 * To be called where the call's own `await` goes on, for there V8 knows who awaits it.
 */
export function ownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const own = new Error(error.message);
  Error.captureStackTrace(own, ownError);
  const frames = own.stack?.slice(String(own).length) ?? '';
  Object.setPrototypeOf(own, Object.getPrototypeOf(error) as object);
  for (const [field, property] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
    if (field !== 'stack') Object.defineProperty(own, field, property);
  }
  own.stack = `${String(own)}${frames}`;
  return own;
}

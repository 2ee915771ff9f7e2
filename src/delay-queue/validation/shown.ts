const SHOWN_LENGTH_MAX = 40;

/** A refused value, short enough for an error message; objects are named by kind only. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > SHOWN_LENGTH_MAX
        ? `a text of ${value.length} characters`
        : JSON.stringify(value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'object':
      return value === null ? 'null' : kindOf(value);
    default:
      return `a ${typeof value}`;
  }
}

/** The beginning of a name that somebody else chose. */
export const cut = (name: string): string =>
  name.length > SHOWN_LENGTH_MAX ? `${name.slice(0, SHOWN_LENGTH_MAX)}…` : name;

function kindOf(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : 'an object';
  } catch {
    return 'a revoked proxy';
  }
}

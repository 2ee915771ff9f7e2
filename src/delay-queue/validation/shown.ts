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
      if (value === null) return 'null';
      return Array.isArray(value) ? 'an array' : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

/** A field of a payload for which a form has an input. */
export interface PlainField {
  name: string;
  kind: 'text' | 'number' | 'integer' | 'flag' | 'choice';
  isRequired: boolean;
  description: string | null;
  /** Of a choice. */
  choices: readonly string[];
}

const KINDS: Record<string, PlainField['kind'] | undefined> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'flag',
};

/** @returns null: the schema is no object of plain fields alone; its payload is written as JSON */
export function plainFieldsOf(schema: unknown): PlainField[] | null {
  const { type, properties, required, ...rest } = membersOf(schema);
  const isMore = ['anyOf', 'oneOf', 'allOf', 'patternProperties', '$ref'].some((it) => it in rest);
  if (type !== 'object' || isMore || typeof properties !== 'object') return null;
  const needed = Array.isArray(required) ? (required as unknown[]) : [];
  const fields: PlainField[] = [];
  for (const [name, its] of Object.entries(membersOf(properties))) {
    const field = fieldOf(name, membersOf(its), needed.includes(name));
    if (field === null) return null;
    fields.push(field);
  }
  return fields.length === 0 ? null : fields;
}

function fieldOf(
  name: string,
  its: Record<string, unknown>,
  isRequired: boolean,
): PlainField | null {
  const description = typeof its['description'] === 'string' ? its['description'] : null;
  const common = { name, isRequired, description };
  const choices = its['enum'];
  if (Array.isArray(choices)) {
    const texts = choices.filter((each): each is string => typeof each === 'string');
    return texts.length === choices.length ? { ...common, kind: 'choice', choices: texts } : null;
  }
  const kind = typeof its['type'] === 'string' ? KINDS[its['type']] : undefined;
  return kind === undefined ? null : { ...common, kind, choices: [] };
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The payload as JSON. Numbers stay as they were typed: one of them may be beyond 2⁵³. What is no
 * number is sent as a text, for the schema to refuse.
 */
export function jsonOf(fields: readonly PlainField[], values: Record<string, string>): string {
  const members = fields.flatMap(({ name, kind, isRequired }) => {
    const text = values[name] ?? '';
    if (text === '' && !(isRequired && kind === 'text')) return [];
    const isBare = kind === 'flag' || (/number|integer/.test(kind) && NUMBER.test(text.trim()));
    return [`${JSON.stringify(name)}: ${isBare ? text.trim() : JSON.stringify(text)}`];
  });
  return `{ ${members.join(', ')} }`;
}

import { asMembers } from '../parts/members.js';

/** A field of a payload for which a form has an input. */
export interface PlainField {
  name: string;
  kind: 'text' | 'number' | 'integer' | 'flag' | 'choice';
  isRequired: boolean;
  description: string | null;
  choices: readonly string[];
}

const KINDS: Record<string, PlainField['kind'] | undefined> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'flag',
};

/** @returns null: the schema is more than an object of plain fields, so the payload is written as JSON */
export function readPlainFields(schema: unknown): PlainField[] | null {
  const { type, properties, required, ...rest } = asMembers(schema);
  const isMore = ['anyOf', 'oneOf', 'allOf', 'patternProperties', '$ref'].some((it) => it in rest);
  if (type !== 'object' || isMore || typeof properties !== 'object') return null;
  const needed = Array.isArray(required) ? (required as unknown[]) : [];
  const fields: PlainField[] = [];
  for (const [name, its] of Object.entries(asMembers(properties))) {
    const field = readField(name, asMembers(its), needed.includes(name));
    if (field === null) return null;
    fields.push(field);
  }
  return fields.length === 0 ? null : fields;
}

function readField(
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

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The payload as JSON. Numbers stay as typed, since they may exceed 2⁵³. Anything else is sent as text,
 * for the schema to refuse.
 */
export function plainJson(fields: readonly PlainField[], values: Record<string, string>): string {
  const members = fields.flatMap(({ name, kind, isRequired }) => {
    const text = values[name] ?? '';
    if (text === '' && !(isRequired && kind === 'text')) return [];
    const isBare = kind === 'flag' || (/number|integer/.test(kind) && NUMBER.test(text.trim()));
    return [`${JSON.stringify(name)}: ${isBare ? text.trim() : JSON.stringify(text)}`];
  });
  return `{ ${members.join(', ')} }`;
}

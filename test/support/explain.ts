import { type Client, escapeLiteral } from 'pg';

/** One node of an executed plan, with the few facts that tests look at. */
interface PlanNode {
  type: string;
  index: string | undefined;
  indexCond: string;
  relation: string | undefined;
  /** Over all loops. */
  rows: number;
  removedByFilter: number;
  /** Pairs that a join looked at and that did not belong together. */
  removedByJoin: number;
}

export interface Plan {
  nodes: PlanNode[];
  /** Pairs of rows that joins looked at in vain: of N with N it is N² where each is compared with each. */
  mismatches: number;
  /** Pages of tables and indexes touched by the whole statement. */
  buffers: number;
  /** Whether the server compiled it for this one execution. */
  compiles: boolean;
  /** The nodes that read this table, by whatever way; not the one that writes it. */
  scansOf(relation: string): PlanNode[];
  /** How this table is read: `Index Scan delay_pkey`, without repetition, sorted. */
  waysInto(relation: string): string[];
}

type Raw = Record<string, unknown> & { Plans?: Raw[]; 'Index Cond'?: string };

interface Explained {
  Plan: Raw;
  JIT?: object;
}

/** Executes the statement with its parameters, takes it back, and answers how it went. */
export async function explain(client: Client, sql: string, parameters: unknown[]): Promise<Plan> {
  await client.query('BEGIN');
  try {
    const { rows } = await client.query<{ 'QUERY PLAN': Explained[] }>(
      `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${sql}`,
      parameters,
    );
    const explained = rows[0]?.['QUERY PLAN'][0];
    if (explained === undefined) throw new Error('EXPLAIN gave no plan');
    return planOf(explained);
  } finally {
    await client.query('ROLLBACK');
  }
}

function planOf({ Plan: root, JIT }: Explained): Plan {
  const nodes = flattened(root).map((raw): PlanNode => ({
    type: String(raw['Node Type']),
    index: raw['Index Name'] as string | undefined,
    indexCond: raw['Index Cond'] ?? '',
    relation: raw['Relation Name'] as string | undefined,
    rows: Number(raw['Actual Rows']) * Number(raw['Actual Loops']),
    removedByFilter: Number(raw['Rows Removed by Filter'] ?? 0) * Number(raw['Actual Loops']),
    removedByJoin: Number(raw['Rows Removed by Join Filter'] ?? 0) * Number(raw['Actual Loops']),
  }));
  const scansOf = (relation: string): PlanNode[] =>
    nodes.filter((node) => node.relation === relation && node.type !== 'ModifyTable');
  return {
    nodes,
    mismatches: nodes.reduce((total, { removedByJoin }) => total + removedByJoin, 0),
    buffers: Number(root['Shared Hit Blocks']) + Number(root['Shared Read Blocks']),
    compiles: JIT !== undefined,
    scansOf,
    waysInto: (relation) =>
      [...new Set(scansOf(relation).map(({ type, index }) => `${type} ${index}`))].toSorted(),
  };
}

const flattened = (raw: Raw): Raw[] => [raw, ...(raw.Plans ?? []).flatMap(flattened)];

/** The execution of a prepared statement, for `explain`. */
export const executionOf = (name: string, parameters: readonly unknown[]): string =>
  `EXECUTE "${name}" (${parameters.map(literalOf).join(', ')})`;

function literalOf(value: unknown): string {
  if (value === null) return 'NULL';
  // JSON within JSON is how an array's literal has texts.
  const text = Array.isArray(value)
    ? `{${value.map((item) => JSON.stringify(item)).join()}}`
    : JSON.stringify(value);
  return escapeLiteral(text);
}

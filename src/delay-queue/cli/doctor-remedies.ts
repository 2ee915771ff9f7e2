import { type Drift, type Finding, notice, problem } from '../core/ops.js';

const COLUMN =
  /^(.*?)( COLLATE \S+)?( NOT NULL)?( GENERATED (?:ALWAYS|BY DEFAULT) AS IDENTITY| DEFAULT .*?)?( STORAGE .)?$/;

const STORAGE: Readonly<Record<string, string>> = { p: 'PLAIN', m: 'MAIN', e: 'EXTERNAL' };

/** What follows ALTER TABLE, to make a column what it should be; undefined: a computed one. */
export function columnSql({ name, is, shouldBe }: Drift): string | undefined {
  if (is.includes(' GENERATED ALWAYS AS (')) return undefined;
  const [now, wanted] = [is, shouldBe].map((text) => COLUMN.exec(text)?.slice(1) ?? []);
  const [type, collation, notNull, value, storage] = (now ?? []).map(
    (part, n) => part !== wanted?.[n],
  );
  const [toType = '', toCollation = '', toNotNull, toValue = '', toStorage] = wanted ?? [];
  const isRetyped = (type ?? false) || (collation ?? false);
  const changes = [
    ...(isRetyped || value
      ? now?.[3]?.startsWith(' DEFAULT')
        ? ['DROP DEFAULT']
        : now?.[3] !== undefined && toValue === ''
          ? ['DROP IDENTITY']
          : []
      : []),
    ...(isRetyped ? [`TYPE ${toType}${toCollation} USING ${name}::${toType}`] : []),
    ...(notNull ? [`${toNotNull === undefined ? 'DROP' : 'SET'} NOT NULL`] : []),
    ...(toValue.startsWith(' DEFAULT') && (isRetyped || value) ? [`SET${toValue}`] : []),
    ...(value && toValue.startsWith(' GENERATED')
      ? [now?.[3]?.includes('IDENTITY') ? 'SET GENERATED ALWAYS' : `ADD${toValue}`]
      : []),
    ...(storage ? [`SET STORAGE ${STORAGE[toStorage?.at(-1) ?? ''] ?? 'EXTENDED'}`] : []),
  ];
  return changes.map((change) => `ALTER ${name} ${change}`).join(', ');
}

/** What a table may be set to: how it is told, what it means, and what ends it behind ALTER TABLE. */
const TABLE_IS: readonly [
  RegExp,
  typeof notice,
  check: string,
  told: string,
  means: string,
  mend?: string,
][] = [
  [
    /^autovacuum_enabled=(?:false|off|0|no)$/i,
    problem,
    'autovacuum',
    'autovacuum is off for {table}',
    'Nothing removes its dead rows: it only grows.',
    'RESET (autovacuum_enabled)',
  ],
  [
    /^unlogged$/,
    problem,
    'durability',
    '{table} is an unlogged table',
    'After a crash of the server it is empty.',
    'SET LOGGED',
  ],
  [
    /^row security$/,
    problem,
    'row-security',
    'row-level security is on for {table}',
    'A role would not see some rows, or could not write them: no node starts.',
    'DISABLE ROW LEVEL SECURITY',
  ],
  [
    /^forced row security$/,
    notice,
    'row-security',
    'row-level security would also hold for the owner of {table}',
    'It is not on.',
    'NO FORCE ROW LEVEL SECURITY',
  ],
  [
    /^replica identity$/,
    notice,
    'drift',
    'the replica identity of {table} is changed',
    'A subscriber may not find the rows that change, and each change writes more WAL.',
    'REPLICA IDENTITY DEFAULT',
  ],
  [
    /^partitioned$/,
    notice,
    'drift',
    'the table {table} is partitioned',
    'It works. Without a partition for what ends next, no attempt can end: a default partition takes it.',
  ],
  [
    /^(?:parent|child) of|^not a table$/,
    problem,
    'drift',
    'the table {table} is {it}',
    'Statements read and change rows of others, or cannot write.',
  ],
];

/** One finding for each setting that differs. */
export function tableFindings(schema: string, { name, is, shouldBe }: Drift): Finding[] {
  const [now, wanted] = [is, shouldBe].map((text) => (text === '' ? [] : text.split(', ')));
  const options = new Map(wanted?.map((each) => each.split('=') as [string, string]));
  const told = (now ?? [])
    .filter((each) => !wanted?.includes(each))
    .map((each): Finding => {
      const known = TABLE_IS.find(([is_]) => is_.test(each));
      const [option = ''] = each.split('=');
      const [, level, check, text, means, mend] = known ?? [
        /./,
        notice,
        'drift',
        'the table {table} is set to {it}',
        'It was measured with the settings of the migrations.',
        options.has(option) ? `SET (${option} = ${options.get(option)})` : `RESET (${option})`,
      ];
      return level(check, text.replace('{table}', name).replace('{it}', each), {
        means,
        ...(mend !== undefined && {
          todo: 'Change it back, unless it is so on purpose.',
          sql: `ALTER TABLE "${schema}".${name} ${mend}`,
        }),
      });
    });
  const isSet = (option: string): boolean =>
    now?.some((each) => each.startsWith(`${option}=`)) ?? false;
  const unset = [...options].filter(([option]) => !isSet(option));
  if (unset.length === 0) return told;
  const settings = unset.map((each) => each.join(' = ')).join(', ');
  return [
    ...told,
    notice('drift', `the table ${name} is not set to ${settings}`, {
      means: 'It was measured with the settings of the migrations.',
      todo: 'Set them as the owner of the tables.',
      sql: `ALTER TABLE "${schema}".${name} SET (${settings})`,
    }),
  ];
}

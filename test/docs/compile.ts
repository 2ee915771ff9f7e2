import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './documents.js';
import type { Unpacked } from './unpacked.js';

/** Clients of what people move away from: what the documents use of them, without the packages. */
const CLIENTS = ['amqplib', 'bullmq', 'ioredis'];

const options = projectOptions();

/** The library and its dependencies are parsed once, however many documents there are. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/**
 * What the compiler says about the blocks of one document, as the project's own files are compiled.
 * Only these blocks and what they import: `DelayPayloads` holds what this document declares.
 */
export function complaintsAbout({ files, folder }: Unpacked): string[] {
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, language, ...rest) => {
    if (name.startsWith(folder)) return read(name, language, ...rest);
    if (!parsed.has(name)) parsed.set(name, read(name, language, ...rest));
    return parsed.get(name);
  };
  const program = ts.createProgram(
    files.map(({ path }) => path),
    options,
    host,
  );
  return files.flatMap(({ path, block }) => {
    const source = program.getSourceFile(path);
    return [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ].map(({ messageText, start }) => {
      const line = source ? source.getLineAndCharacterOfPosition(start ?? 0).line + 1 : 0;
      return `${block}, line ${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
  });
}

/** The words of a type like `'a' | 'b'` in a source file of the project. */
export function wordsOf(file: string, typeName: string): string[] {
  const found = sourceOf(file).statements.find(
    (statement): statement is ts.TypeAliasDeclaration =>
      ts.isTypeAliasDeclaration(statement) && statement.name.text === typeName,
  );
  if (found === undefined || !ts.isUnionTypeNode(found.type)) {
    throw new Error(`${file} has no union ${typeName}`);
  }
  return found.type.types.flatMap((type) =>
    ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? [type.literal.text] : [],
  );
}

function sourceOf(file: string): ts.SourceFile {
  const path = join(ROOT, file);
  return ts.createSourceFile(path, ts.sys.readFile(path) ?? '', ts.ScriptTarget.Latest);
}

function projectOptions(): ts.CompilerOptions {
  const path = join(ROOT, 'tsconfig.json');
  const { config, error } = ts.readConfigFile(path, (name) => ts.sys.readFile(name));
  if (error) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'));
  const parsedConfig = ts.parseJsonConfigFileContent(
    { ...config, files: [], include: [] },
    ts.sys,
    ROOT,
  );
  return {
    ...parsedConfig.options,
    noEmit: true,
    incremental: false,
    tsBuildInfoFile: undefined,
    configFilePath: undefined,
    paths: Object.fromEntries(
      CLIENTS.map((name) => [name, [join(ROOT, `test/docs/clients/${name}.ts`)]]),
    ),
  };
}

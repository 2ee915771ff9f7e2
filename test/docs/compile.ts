import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './documents.js';

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

/** As the project's own files are compiled. */
export function projectOptions(): ts.CompilerOptions {
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
    paths: { bullmq: [join(ROOT, 'test/docs/clients/bullmq.ts')] },
  };
}

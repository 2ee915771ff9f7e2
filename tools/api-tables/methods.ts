import ts from 'typescript';
import type { Declarations } from './declarations.js';
import { docOf } from './docstring.js';

/** A method as its table has it. */
export interface Method {
  name: string;
  does: string;
  /** Its signatures, one for each overload. */
  calls: string[];
  answers: string;
}

/** Parameters of which the signature names the properties. */
const OPTIONS = new Set(['options', 'to']);

/** The public methods of a service. Of one with overloads those, for its own types say little. */
export function methodsOf(declarations: Declarations, className: string): Method[] {
  const methods = declarations.classOf(className).members.filter((each) => isPublic(each));
  const names = new Set(methods.map(({ name }) => name.getText()));
  return [...names].map((name) => {
    const all = methods.filter((method) => method.name.getText() === name);
    const overloads = all.filter(({ body }) => body === undefined);
    return methodOf(declarations, name, overloads.length > 0 ? overloads : all);
  });
}

function methodOf(
  declarations: Declarations,
  name: string,
  signatures: ts.MethodDeclaration[],
): Method {
  const docs = signatures.map((signature) => docOf(signature));
  const returns = docs.flatMap(({ tags }) => tags.get('returns') ?? [])[0];
  const verdicts = signatures.flatMap(({ type }) => verdictsOf(declarations, type))[0];
  return {
    name,
    does: docs.find(({ text }) => text !== '')?.text ?? '',
    calls: signatures.map((signature) => callOf(declarations, signature)),
    answers: verdicts ?? returns ?? '',
  };
}

const isPublic = (member: ts.ClassElement): member is ts.MethodDeclaration =>
  ts.isMethodDeclaration(member) &&
  !ts.isPrivateIdentifier(member.name) &&
  !docOf(member).tags.has('internal') &&
  !ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);

/** `cancel(name, key, { by?, manager? }?): Promise<CancelResult>` */
function callOf(declarations: Declarations, { name, parameters, type }: ts.MethodDeclaration) {
  const taken = parameters.map((parameter) => {
    const isOptional = parameter.questionToken ?? parameter.initializer;
    return `${takenAs(declarations, parameter)}${isOptional ? '?' : ''}`;
  });
  const answers = type?.getText().replaceAll(/\s+/g, ' ') ?? 'void';
  return `${name.getText()}(${taken.join(', ')}): ${answers}`;
}

function takenAs(declarations: Declarations, { name, type }: ts.ParameterDeclaration): string {
  const members = OPTIONS.has(name.getText()) && type ? declarations.membersOf(type) : [];
  if (members.length === 0) return name.getText();
  // What is required is one of several: `{ after | at, key? }`.
  const required = members.filter(({ isOptional }) => !isOptional);
  const optional = members.filter(({ isOptional }) => isOptional);
  const listed = [
    required.map((each) => each.name).join(' | '),
    ...optional.map((each) => `${each.name}?`),
  ];
  return `{ ${listed.filter(Boolean).join(', ')} }`;
}

/** @returns undefined of a method that answers something else */
function verdictsOf(
  declarations: Declarations,
  promise: ts.TypeNode | undefined,
): string | undefined {
  if (promise === undefined || !ts.isTypeReferenceNode(promise)) return undefined;
  const [answer] = promise.typeArguments ?? [];
  const words = answer ? declarations.wordsOf(answer, 'verdict') : [];
  if (answer === undefined || words.length === 0) return undefined;
  const verdicts = words.map((word) => `\`${word}\``).join(', ');
  return ts.isArrayTypeNode(answer) ? `${verdicts}; one for each` : verdicts;
}

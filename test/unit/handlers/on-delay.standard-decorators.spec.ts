import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { runInThisContext } from 'node:vm';
import { DelayConfigError, OnDelay } from 'nestjs-delay-queue';

it('@OnDelay compiled as a standard decorator says which options of the compiler are missing', () => {
  const source = `(OnDelay) => { class Orders { @OnDelay('order.close') close() {} } return Orders; }`;
  const compilerOptions = { target: ts.ScriptTarget.ES2022, experimentalDecorators: false };
  const { outputText } = ts.transpileModule(source, { compilerOptions });
  const define = runInThisContext(outputText) as (decorator: unknown) => unknown;
  expect(() => define(OnDelay)).toThrow(DelayConfigError);
  expect(() => define(OnDelay)).toThrow(/^close: .*"experimentalDecorators": true/);
});

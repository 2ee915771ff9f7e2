// Jest would turn a `.ts` file here into CommonJS; the loader in `tools/` takes it as it is.
export { openTestRun as default } from './open-test-run.ts';

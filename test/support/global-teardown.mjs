export { closeTestRun as default } from './open-test-run.ts';

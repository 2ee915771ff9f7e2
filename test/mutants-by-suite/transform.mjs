import swc from '@swc/jest';
import { patchSource } from '../../tools/source-patches.mjs';

/** That of `@swc/jest`; what it keeps it keeps by the text that it was given, which is the changed one. */
export default {
  createTransformer(options) {
    const transformer = swc.createTransformer(options);
    const patched =
      (method) =>
      (source, filename, ...rest) =>
        transformer[method](patchSource(source, filename), filename, ...rest);
    return {
      canInstrument: transformer.canInstrument,
      process: patched('process'),
      processAsync: patched('processAsync'),
      getCacheKey: patched('getCacheKey'),
    };
  },
};

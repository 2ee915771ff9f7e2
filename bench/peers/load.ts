/**
 * Imports a package of this folder, where the root of the project has none of it: `import()` looks
 * from the file on that it stands in.
 *
 * @typeParam Surface what the caller uses of it; `npm run bench:peers` compares these with the
 *   package's own types
 */
export const load = async <Surface>(name: string): Promise<Surface> =>
  (await import(name)) as Surface;

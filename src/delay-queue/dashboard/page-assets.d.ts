/** One file of the page, made by `npm run build`. */
export interface PageFile {
  type: string;
  /** Of its content. */
  etag: string;
  /** Base64. */
  gzip: string;
}

/** The built page, written by `tools/page/build.mjs` beside each compiled copy of the library. */
export declare const PAGE_FILES: Readonly<Record<string, PageFile>>;

/** Of the package, as the page knows it. */
export declare const VERSION: string;

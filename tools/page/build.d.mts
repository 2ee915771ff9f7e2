/** The page of the shop. @returns what was written: paths below `dist/page`, and their bytes */
export function buildPage(): Promise<{ name: string; bytes: number }[]>;

/** @returns the module that holds the dashboard's page, and how many bytes that has on the way */
export function dashboardAssets(options?: {
  exported?: 'module' | 'commonjs';
}): Promise<{ text: string; bytes: number }>;

/** Writes that module beside the library. @returns how many bytes the page has on the way */
export function buildDashboard(): Promise<number>;

/** @param source what `filename` holds, or holds with patches */
export function compiled(source: string, filename: string): string;

/** What the visitor chose, kept by the browser where it allows that. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // It lasts as long as the page, then.
  }
}

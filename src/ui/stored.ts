/** The visitor's choice, stored by the browser if it allows that. */
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
    // Then it lasts as long as the page.
  }
}

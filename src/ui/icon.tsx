const PATHS = {
  clock: 'M12 7v5l3.2 2M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17Z',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  cross: 'm6.5 6.5 11 11m0-11-11 11',
  down: 'm6.5 9.5 5.5 5.5 5.5-5.5',
  plus: 'M12 6v12M6 12h12',
  minus: 'M6 12h12',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm0-5v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4',
  moon: 'M20 14.2A8 8 0 0 1 9.8 4a8 8 0 1 0 10.2 10.2Z',
} as const;

/** In the color of the text beside it, which also describes it. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

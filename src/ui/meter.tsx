/** A bar; the figure beside it says the same. */
export function Meter({ of }: { of: number }) {
  return (
    <span class="meter" aria-hidden="true">
      <i style={{ transform: `scaleX(${Math.min(1, Math.max(0, of))})` }} />
    </span>
  );
}

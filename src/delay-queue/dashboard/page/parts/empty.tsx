import type { ComponentChildren } from 'preact';

/** Says why there is nothing, and how something would come here. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <b>{title}</b>
      {children && <p>{children}</p>}
    </div>
  );
}

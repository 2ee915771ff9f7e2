import type { ComponentChildren } from 'preact';

interface PanelProps {
  id: string;
  title: string;
  note?: string | undefined;
  children: ComponentChildren;
}

/** A part of the page with a heading, which is also its accessible name. */
export function Panel({ id, title, note, children }: PanelProps) {
  return (
    <section class={`panel ${id}`} id={id} aria-labelledby={`${id}-title`} tabIndex={-1}>
      <header class="panel-head">
        <h2 id={`${id}-title`}>{title}</h2>
        {note && <p class="note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

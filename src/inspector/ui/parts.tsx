/** Small parts of pages. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count, visible } from './format.tsx';

const SIGNS: Readonly<Record<string, string>> = {
  running: '◌',
  completed: '●',
  incomplete: '◐',
  failed: '✕',
  cancelled: '○',
  refused: '✕',
  ok: '●',
  ready: '●',
  failing: '✕',
  unused: '○',
  idle: '○',
  connecting: '◌',
};

/** A state as a word, a sign and a colour. */
export function Status({ of }: { readonly of: string }) {
  return (
    <span class={`status ${Object.hasOwn(SIGNS, of) ? of : ''}`}>
      <span aria-hidden="true">{SIGNS[of] ?? '·'} </span>
      {visible(of)}
    </span>
  );
}

/** Text of others: it keeps its line breaks, and cannot change the direction or the width of the page. */
export function Text({ of, class: name = '' }: { readonly of: string; readonly class?: string }) {
  return (
    <bdi dir="auto" class={`text ${name}`}>
      {visible(of)}
    </bdi>
  );
}

interface ScrollProps {
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A box of its own, which scrolls; the keyboard reaches it, too. */
export function Scroll({ label, class: name = 'box', children }: ScrollProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by the keyboard.
    <section class={name} tabIndex={0} aria-label={visible(label)} dir="ltr">
      {children}
    </section>
  );
}

/** Characters that are shown until more are asked for. */
const SHOWN = 20_000;

/** A long text in a box of its own, which scrolls. */
export function Box({ of, label, cut = 0 }: { readonly of: string; readonly label: string; readonly cut?: number }) {
  const [isWhole, setWhole] = useState(false);
  const text = isWhole || of.length <= SHOWN ? of : of.slice(0, SHOWN);
  return (
    <>
      <Scroll label={label}>
        <pre>{text === '' ? <span class="faint">nothing</span> : visible(text)}</pre>
      </Scroll>
      {text.length < of.length && (
        <button type="button" onClick={() => setWhole(true)}>
          Show {count(of.length - text.length)} more characters
        </button>
      )}
      {cut > 0 && <p class="faint">{count(cut)} more were not kept.</p>}
    </>
  );
}

/** Names and values. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Part of a page that is drawn when it is opened. */
export function Fold({
  title,
  isOpen = false,
  children,
}: {
  readonly title: ComponentChildren;
  readonly isOpen?: boolean;
  readonly children: () => ComponentChildren;
}) {
  const [shows, setShows] = useState(isOpen);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setShows(currentTarget.open)}>
      <summary>{title}</summary>
      {shows && <div class="fold">{children()}</div>}
    </details>
  );
}

/** Copies a text, and says so. */
export function Copy({ of, children }: { readonly of: () => string; readonly children: string }) {
  const [said, setSaid] = useState('');
  const copy = () =>
    navigator.clipboard.writeText(of()).then(
      () => setSaid('Copied.'),
      () => setSaid('The browser does not allow it.'),
    );
  return (
    <>
      <button type="button" onClick={copy}>
        {children}
      </button>
      <span role="status" class="faint">
        {said}
      </span>
    </>
  );
}

/** What a page shows while it has nothing to show. */
export function Waiting({ error }: { readonly error: string | undefined }) {
  return (
    <p role={error ? 'alert' : undefined} class={error ? 'error' : 'faint'}>
      {error ? visible(error) : 'Loading …'}
    </p>
  );
}

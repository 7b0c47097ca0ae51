/** A gate: one side of a test waits at it until the other side opens it. */

/** A promise and what resolves it. */
export interface Gate<Value = void> {
  readonly open: (value: Value) => void;
  readonly opened: Promise<Value>;
}

/** A closed gate. */
export function gate<Value = void>(): Gate<Value> {
  let open: (value: Value) => void = () => {};
  const opened = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

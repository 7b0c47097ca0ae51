/** A source with values in between that come by a callback while it is read. */

type Arrival<Value> =
  | { readonly value: Value; readonly isPushed: boolean }
  | { readonly error: unknown }
  | { readonly ended: true };

/**
 * The values of the source, and those that are pushed meanwhile, in the order of their arrival. The source is asked for
 * its next value only when the one before it has been read; values that are pushed wait here, so there must be few.
 */
export async function* interleaved<Value>(
  open: (push: (value: Value) => void) => AsyncIterator<Value, void>,
): AsyncGenerator<Value, void> {
  const arrived: Arrival<Value>[] = [];
  let wake = () => {};
  const put = (arrival: Arrival<Value>) => {
    arrived.push(arrival);
    wake();
  };
  const source = open((value) => put({ value, isPushed: true }));
  const ask = () => {
    source.next().then(
      ({ done, value }) => put(done ? { ended: true } : { value, isPushed: false }),
      (error) => put({ error }),
    );
  };
  ask();
  for (;;) {
    const arrival = arrived.shift();
    if (!arrival) await new Promise<void>((resolve) => (wake = resolve));
    else if ('error' in arrival) throw arrival.error;
    else if ('ended' in arrival) return;
    else {
      yield arrival.value;
      if (!arrival.isPushed) ask();
    }
  }
}

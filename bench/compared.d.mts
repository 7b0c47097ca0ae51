/** Types of what the tests compare. */

/** One answer. */
export interface Compared {
  readonly text: string;
  /** The arguments of the client's calls. */
  readonly calls: readonly string[];
  readonly usage: { readonly input: number; readonly output: number };
}

type ByName<Value> = Readonly<Record<string, Value>>;

export function answersToPlans(): Promise<ByName<ByName<Compared>>>;
export function answersAfterTools(): Promise<ByName<ByName<Compared>>>;

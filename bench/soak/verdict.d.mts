export function verdictOn(samples: readonly object[]): {
  readonly slopes: readonly object[];
  readonly counts: readonly object[];
  readonly reasons: readonly string[];
};

/** Types of the slope. */
export function slopeOf(figures: readonly number[]): { readonly slope: number; readonly error: number };

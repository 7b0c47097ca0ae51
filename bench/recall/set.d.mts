/** The types of `set.mjs`. */
export const sections: readonly { readonly name: string; readonly text: string }[];
export const questions: readonly {
  readonly kind: string;
  readonly question: string;
  readonly answers: readonly string[];
}[];

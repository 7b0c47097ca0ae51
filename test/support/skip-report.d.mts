/** The part of jest's results that is read. */
export interface TestFile {
  readonly testFilePath: string;
  readonly testResults: readonly { readonly status: string; readonly fullName: string }[];
}

export function skippedBy(
  testResults: readonly TestFile[],
): ReadonlyMap<string, { readonly tests: number; readonly files: ReadonlySet<string> }>;

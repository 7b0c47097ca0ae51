/** The types of `release.mjs`, for its test. */
interface Manifest {
  readonly version: string;
  readonly homepage?: string;
  readonly repository?: { readonly url: string };
  readonly bugs?: { readonly url: string };
}
export function obstacles(
  manifest: Manifest,
  files: { readonly changelog: string; readonly versionFile: string },
): readonly string[];
export function notesOf(changelog: string, version: string): string;

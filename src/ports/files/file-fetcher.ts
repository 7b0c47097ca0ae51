/** The port to what fetches the files that requests name by their URL. */

/** Fetches URLs of untrusted clients; an egress guard is one. */
export interface FileFetcher {
  /**
   * As the global `fetch`; it must follow no redirect and reach no address that the host does not allow. `tenant` is whose
   * request it is, for what is shared out between tenants.
   */
  fetch(url: string, init?: RequestInit & { readonly tenant?: string | undefined }): Promise<Response>;
}

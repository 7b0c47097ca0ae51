/** What a form with a file may hold, and how many of them a tenant may send at once. */

/** The limits of one form. */
export interface FormLimits {
  /** The maximum length of its file. */
  readonly fileBytes: number;
  /** The maximum number of its parts. */
  readonly parts: number;
  /** The maximum length of a field other than the file. */
  readonly fieldBytes: number;
  /** How long the client may pause, in milliseconds. */
  readonly idleTimeoutMs: number;
}

/** The limits of a tenant's running uploads. */
export interface UploadLimits {
  /** Uploads at the same time. */
  readonly uploads: number;
  /** The number of files that it may keep. */
  readonly files: number;
  /** Their total length; running uploads may take as much again. */
  readonly tenantBytes: number;
}

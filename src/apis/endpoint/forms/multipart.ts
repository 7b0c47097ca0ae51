/** Loads the multipart parser, and checks what it is given. */
import type { BusboyConstructor } from '@fastify/busboy';
import { requirePeer } from '../../../ports/host/peer.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { FormLimits } from './form-limits.ts';

/** The parser of one form. */
export type Busboy = InstanceType<BusboyConstructor>;

/** Creates the parser of one form. Throws `invalid_multipart`. */
export type FormParser = (contentType: string) => Busboy;

/** A part's own headers; with real clients they take two hundred bytes. */
const HEADER_BYTES = 16 * 1024;
const HEADER_PAIRS = 16;
/**
 * What the parser is given at once, and what a part of a form may hold that nobody reads. A part that the parser skips, such as one
 * that is no form data, stops the parser for good where it is full at the part's end.
 */
export const PIECE_BYTES = 16 * 1024;
const PART_BYTES = 4 * PIECE_BYTES;
/** RFC 2046's longest. */
const BOUNDARY_LENGTH = 70;
/** What a form may hold besides its file. */
const OTHER_BYTES = 1024 * 1024;

/** A form of several files, whose names may have folders. */
interface FormShape {
  /** The most files of one form. */
  readonly files: number;
  /** Whether a file's name keeps its folders: then it is a path that the client chose. */
  readonly preservePath: boolean;
}

const ONE_FILE: FormShape = { files: 1, preservePath: false };

/** Throws an `Error` that names the package to install if it is missing. */
export function formParser(owner: string, limits: FormLimits, { files, preservePath } = ONE_FILE): FormParser {
  const { Busboy: Parser } = requirePeer<{ readonly Busboy: BusboyConstructor }>(owner, '@fastify/busboy');
  const settings = {
    fileHwm: PART_BYTES,
    preservePath,
    limits: {
      files,
      parts: limits.parts,
      fieldSize: limits.fieldBytes,
      headerSize: HEADER_BYTES,
      headerPairs: HEADER_PAIRS,
    },
  };
  return (contentType) => {
    try {
      return new Parser({ ...settings, headers: { 'content-type': contentType } });
    } catch (cause) {
      // What looks like a boundary may be within the text of another parameter.
      throw malformed('Its content type has no boundary.', cause);
    }
  };
}

/** The type of the form. Throws `unsupported_media_type` and `invalid_multipart`. */
export function formType(headers: Headers): string {
  const type = headers.get('content-type') ?? '';
  if (!/^multipart\/form-data *(?:;|$)/i.test(type))
    throw new ApiError('unsupported_media_type', 'Upload a file as multipart/form-data.');
  const boundary = /;\s*boundary=(?:"([^"]{0,200})"|([^\s;"]*))/i.exec(type);
  const { length } = boundary?.[1] ?? boundary?.[2] ?? '';
  if (length >= 1 && length <= BOUNDARY_LENGTH) return type;
  throw malformed(`Its boundary must have 1 to ${BOUNDARY_LENGTH} characters, and has ${length}.`);
}

/** The most bytes of a form. */
export function maxFormBytes({ fileBytes }: FormLimits): number {
  return fileBytes + OTHER_BYTES;
}

/** The error for a body that is not a multipart form. */
export function malformed(why: string, cause?: unknown): ApiError {
  return new ApiError('invalid_multipart', `We could not read the multipart/form-data of your request. ${why}`, {
    cause,
  });
}

/** The error for a file that is too long. */
export function fileTooLarge({ fileBytes }: FormLimits, param = 'file'): ApiError {
  return new ApiError('file_too_large', `A file may have at most ${fileBytes} bytes here.`, { param });
}

/** Where a part of a message that is a file has its bytes, or its address. */
import { dataInURL } from '../file-data.ts';
import { isRecord, type JsonObject, plainText } from '../record.ts';

/** A file: its bytes in base64, or its address, which may be no URL. */
export type FileSource =
  | { readonly mediaType: string; readonly base64: string }
  | { readonly mediaType: string; readonly base64?: undefined; readonly url: string };

const PDF = 'application/pdf';

/** Undefined for a part that is no file. The type of a file of which only the address is known is what it usually is, such as `image/*`. */
export function fileSource(part: JsonObject): FileSource | undefined {
  switch (part.type) {
    case 'input_image':
      return sourceAt(part.image_url, 'image/*');
    case 'input_video':
      return sourceAt(part.video_url, 'video/*');
    case 'input_audio': {
      const { data, format } = isRecord(part.input_audio) ? part.input_audio : part;
      return { mediaType: `audio/${format === 'mp3' ? 'mpeg' : plainText(format)}`, base64: plainText(data) };
    }
    case 'input_file': {
      const { file_data: data, file_url: url } = part;
      // Some clients send bare base64, which is nearly always a PDF.
      const isBare = typeof data === 'string' && data !== '' && !data.startsWith('data:');
      return isBare ? { mediaType: PDF, base64: data } : sourceAt(data || url, PDF);
    }
    default:
      return undefined;
  }
}

function sourceAt(place: unknown, usualType: string): FileSource {
  const url = plainText(place);
  return dataInURL(url) ?? { mediaType: usualType, url };
}

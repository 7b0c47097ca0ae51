/** The text of documents: plain text, HTML, PDF, and those of Word, Excel and PowerPoint. */
export type { TextDocument, TextReader } from '../../ports/files/text-reader.ts';
export { type DocumentTextOptions, documentText } from './document-text.ts';

import { Markdown } from "../markdown/Markdown";
import { LongText } from "./LongText";

/** More than any model says in one go; what is beyond is shown as plain text, and only when asked for. */
const MOST_CHARS = 200_000;

/** What a model said, in Markdown. */
export function Prose({ text, isStreaming }: { text: string; isStreaming: boolean }) {
  if (text.length <= MOST_CHARS) return <Markdown text={text} isStreaming={isStreaming} />;
  return (
    <>
      <Markdown text={text.slice(0, MOST_CHARS)} isStreaming={isStreaming} />
      <LongText text={text} label="The whole answer" />
    </>
  );
}

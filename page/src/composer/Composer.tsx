import { ActionIcon, Button, FileButton, Tooltip } from "@mantine/core";
import { memo, useEffect, useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";
import { promptsApi } from "../api/topics";
import type { PromptView } from "../api/types";
import { ComparedModels } from "../compare/ComparedModels";
import { Ring } from "../context/Ring";
import { isLongPaste, PASTED } from "../documents/documents";
import { InsertDialog } from "../prompts/InsertDialog";
import { MiniPrompts } from "../prompts/MiniPrompts";
import { askedOf, usePrompts } from "../prompts/store";
import { isTyping, keyLabel } from "../shell/commands";
import { ArrowUpIcon, CloseIcon, PlusIcon, StopIcon, ThoughtIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { currentModel } from "../shell/ModelSelector";
import { ModeSelector } from "../shell/ModeSelector";
import { Said } from "../shell/Said";
import { currentConversation, stopRun } from "../store/actions";
import { activeRun } from "../store/conversation";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import { TodoChip } from "../todos/TodoChip";
import classes from "./Composer.module.css";
import { CommandHints } from "./CommandHints";
import { begunBy, promptsBegunBy, wishIn, type BoxCommand } from "./commands";
import { useDropped } from "./drops";
import { AttachedDocuments } from "./AttachedDocuments";
import { isImage, type Attachment } from "./images";
import { boxKeys, sends, useEnterSends } from "./keys";
import { MessageBox, useHandlers } from "./MessageBox";
import { useComposer, type Composing } from "./useComposer";

function Thumbnails({ images, onRemove }: { images: Attachment[]; onRemove: (at: number) => void }) {
  if (!images.length) return null;
  return (
    <ul className={classes.thumbnails} aria-label="Attached images">
      {images.map((image, at) => (
        <li key={at} className={classes.thumbnail}>
          <img src={`data:${image.mediaType};base64,${image.data}`} alt={image.name} />
          <button type="button" aria-label={`Remove ${image.name}`} onClick={() => onRemove(at)}>
            <CloseIcon size={12} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function AttachButton({ takesImages, onFiles }: { takesImages: boolean; onFiles: (files: File[]) => void }) {
  const label = takesImages ? "Attach files or images" : "Attach files; this model does not take images";
  return (
    <FileButton onChange={onFiles} multiple>
      {(props) => (
        <Tooltip label={label}>
          <ActionIcon {...props} className={classes.attach} size="lg" aria-label="Attach files">
            <PlusIcon />
          </ActionIcon>
        </Tooltip>
      )}
    </FileButton>
  );
}

/** Asks the model to think first, or not to; it begins as the conversation is set. */
function ThinkButton({ thinking, setThinking }: Pick<Composing, "thinking" | "setThinking">) {
  const usual = useApp((state) => settingsNow(state).thinking);
  const isOn = thinking ?? usual ?? false;
  const label = isOn ? "It is asked to think first" : "Ask it to think first";
  return (
    <Tooltip label={label}>
      <Button
        size="compact-sm"
        variant={isOn ? "light" : "subtle"}
        {...(isOn ? {} : { color: "gray" })}
        className={classes.think}
        leftSection={<ThoughtIcon size={16} />}
        aria-label="Think"
        aria-pressed={isOn}
        onClick={() => setThinking(!isOn)}
      >
        <span className={classes.word}>Think</span>
      </Button>
    </Tooltip>
  );
}

function StopButton() {
  const isStopping = useApp((state) => activeRun(state.open)?.cancelRequested ?? false);
  return (
    <Button
      size="compact-md"
      variant="default"
      className={classes.go}
      leftSection={<StopIcon size={16} />}
      disabled={isStopping}
      aria-label={isStopping ? "Stopping…" : "Stop"}
      onClick={() => void stopRun().catch(tell)}
    >
      <span className={classes.word}>{isStopping ? "Stopping…" : "Stop"}</span>
    </Button>
  );
}

/** Say how a message is sent, or why one cannot be sent yet; a summary waits for its turn. */
function hint(isRunning: boolean, isEmpty: boolean, isWish: boolean, sendKey: string): string {
  if (isWish) return `${keyLabel(sendKey)} to sum up${isRunning ? " once this answer has ended" : ""}`;
  if (!isRunning) return `${keyLabel(sendKey)} to send`;
  return isEmpty ? "" : "Can be sent once this answer has ended";
}

const isTouch = () => window.matchMedia("(pointer: coarse)").matches;

/** The box for the next message. What was not accepted stays in it. */
export const Composer = memo(({ draftId }: { draftId: string }) => {
  const model = useApp(currentModel);
  const composing = useComposer(draftId, model?.supportsThinking ?? false);
  const { text, images, problem, isSending, setText, addFiles, removeImage, setProblem, send } = composing;
  // What begins a branch need not wait for an answer that it leaves behind.
  const isRunning = useApp((state) => state.branching === null && activeRun(state.open) !== null);
  const enterSends = useEnterSends();
  const takesImages = model?.supportsImages ?? false;
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // Who has begun to type elsewhere while the conversation was fetched goes on there.
    if (!isTouch() && !isTyping(document.activeElement)) box.current?.focus();
  }, []);

  const take = (files: File[]) => {
    const images = files.filter(isImage);
    const isRefused = images.length > 0 && !takesImages;
    setProblem(isRefused ? `${model?.name ?? "This model"} does not take images. Choose another model first.` : null);
    if (images.length && takesImages) addFiles(images);
    const others = files.filter((file) => !isImage(file));
    if (others.length) composing.addDocuments(others);
  };
  useDropped(take, "Drop files to attach them to your message.");
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    const pasted = event.clipboardData.getData("text/plain");
    // A copied text may bring other things along; only pictures are worth more than its words.
    if (!files.some(isImage) && (!files.length || pasted)) {
      if (!isLongPaste(pasted)) return;
      event.preventDefault();
      composing.addDocuments([new File([pasted], PASTED, { type: "text/plain" })]);
      return;
    }
    event.preventDefault();
    take(files);
  };
  const isWish = wishIn(text) !== null;
  const comparedCount = useApp(({ compared }) => compared?.length ?? null);
  const isTooFew = comparedCount !== null && comparedCount < 2;
  const hasOpen = useApp((state) => state.open !== null);
  const { prompts } = usePrompts("prompts");
  const hints = [...(hasOpen ? begunBy(text) : []), ...promptsBegunBy(text, prompts)];
  const [asking, setAsking] = useState<PromptView | null>(null);
  const choose = ({ name, prompt }: BoxCommand) => {
    if (!prompt) setText(`${name} `);
    else if (askedOf(prompt).length) setAsking(prompt);
    else promptsApi.fill(prompt.name, {}, currentConversation()).then((filled) => setText(filled.text), tell);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const [first] = hints;
    if (first && event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      choose(first);
      return;
    }
    if (!sends(event.nativeEvent, enterSends)) return;
    event.preventDefault();
    // A prompt's name is no message.
    const named = hints.find(({ name, prompt }) => prompt && name === text.trim());
    if (named) return choose(named);
    if (!isTooFew && (!isRunning || isWish)) send();
  };
  const on = useHandlers({ setText, onKeyDown, onPaste });
  const isEmpty = !text.trim() && !images.length && !composing.documents.length && !composing.waiting.length;

  return (
    <>
    {/* Beside the form: what is sent in it is not sent by the box. */}
    <InsertDialog prompt={asking} onClose={() => setAsking(null)} onText={setText} />
      <form
      className={classes.composer}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isTooFew) send();
      }}
    >
      {problem && (
        <p className={`ph-bad ${classes.problem}`} role="alert">
          <Said text={problem} />
        </p>
      )}
      <CommandHints hints={hints} onChoose={choose} />
      <div className={classes.box}>
        <ComparedModels />
        <Thumbnails images={images} onRemove={removeImage} />
        <AttachedDocuments {...composing} />
        <MessageBox
          box={box}
          text={text}
          placeholder={`Message ${comparedCount && !isTooFew ? `${comparedCount} models` : (model?.name ?? "")}`.trim()}
          on={on}
        />
        <div className={classes.tools}>
          <AttachButton takesImages={takesImages} onFiles={take} />
          {model?.supportsThinking && <ThinkButton {...composing} />}
          <MiniPrompts />
          <ModeSelector />
          <TodoChip />
          <span className={classes.hint}>{isTooFew ? "Choose another model to compare with" : hints.length && !isWish ? "Tab to complete" : hint(isRunning, isEmpty, isWish, boxKeys(enterSends).send[0] ?? "")}</span>
          <Ring />
          {isRunning ? (
            <StopButton />
          ) : (
            <Button
              type="submit"
              size="compact-md"
              className={classes.go}
              leftSection={<ArrowUpIcon size={16} />}
              aria-label="Send"
              loading={isSending}
              disabled={isEmpty || isTooFew}
            >
              <span className={classes.word}>Send</span>
            </Button>
          )}
        </div>
      </div>
    </form>
    </>
  );
});

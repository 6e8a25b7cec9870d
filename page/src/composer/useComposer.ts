import { useRef, useState } from "react";
import { ApiError } from "../api/client";
import { stillToSay } from "../shell/messages";
import { compactConversation, sendMessage } from "../store/actions";
import { wishIn } from "./commands";
import { loadDraft, newKey, noDraft, saveDraft, type Draft } from "./drafts";
import { attach, type Attachment } from "./images";

const SENT_BEFORE =
  "This was sent before, in another conversation or with other attachments. Look there first; sending again sends it once more.";
/** Images do not fit into the browser's storage; they stay while the tab does. */
const keptImages = new Map<string, Attachment[]>();
/** What the person said here about thinking holds until they say otherwise, or the tab is closed. */
const keptThinking = new Map<string, boolean>();

export interface Composing {
  text: string;
  images: Attachment[];
  problem: string | null;
  isSending: boolean;
  /** Whether the model is asked to think first; null when nothing was said about it here. */
  thinking: boolean | null;
  setThinking: (thinking: boolean) => void;
  setText: (text: string) => void;
  addFiles: (files: File[]) => void;
  removeImage: (at: number) => void;
  setProblem: (problem: string | null) => void;
  send: () => void;
}

/** What stands in the box, kept until the server has accepted it; of a model that cannot think nothing is asked. */
export function useComposer(draftId: string, canThink: boolean): Composing {
  const [draft, setDraft] = useState<Draft>(() => loadDraft(draftId));
  const [images, setImages] = useState<Attachment[]>(() => keptImages.get(draftId) ?? []);
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const [thinking, setThinking] = useState<boolean | null>(() => keptThinking.get(draftId) ?? null);
  const busy = useRef(false);
  // As it is now: files are read and messages accepted while the person types on.
  const latest = useRef({ draft, images });
  const reading = useRef<Promise<void>>(Promise.resolve());

  const keep = (next: Draft) => {
    latest.current.draft = next;
    setDraft(next);
    saveDraft(draftId, next);
  };
  const keepImages = (next: Attachment[]) => {
    latest.current.images = next;
    keptImages.set(draftId, next);
    setImages(next);
    // Other images make another message.
    keep({ ...latest.current.draft, key: null });
  };

  /** Take what was sent out of the box; what was added to it since is the beginning of the next message. */
  const accepted = (id: string, sent: { text: string; images: readonly Attachment[] }) => {
    const { draft: now, images: attached } = latest.current;
    const text = now.text === sent.text ? "" : now.text;
    const left = attached.filter((image) => !sent.images.includes(image));
    if (id === draftId) {
      keepImages(left);
      keep({ text, key: null });
      return;
    }
    // The first message of a conversation: its box takes over.
    keptImages.delete(draftId);
    keptThinking.delete(draftId);
    if (thinking !== null) keptThinking.set(id, thinking);
    saveDraft(draftId, noDraft);
    keptImages.set(id, left);
    saveDraft(id, { text, key: null });
  };

  /** Tell the host what was meant for it; pictures stay for the next message. */
  const sumUp = async (text: string, keep: string) => {
    try {
      accepted(await compactConversation(keep), { text, images: [] });
    } catch (error) {
      setProblem(stillToSay(error));
    }
  };

  const attempt = async () => {
    setProblem(null);
    const { text } = latest.current.draft;
    // What was attached before belongs to it, also while it is still being read.
    await reading.current;
    const wish = wishIn(text);
    if (wish !== null) return sumUp(text, wish);
    const sent = { text, images: latest.current.images };
    const key = latest.current.draft.key ?? newKey();
    if (latest.current.draft.text === text) keep({ text, key });
    try {
      const images = sent.images.map(({ mediaType, data, name }) => ({ mediaType, data, name }));
      accepted(await sendMessage({ text, images, key, thinking: canThink ? thinking : null }), sent);
    } catch (error) {
      if (error instanceof ApiError && error.problem.code === "conflict") {
        // An earlier attempt got through, from another page or with other attachments; the next one is a new message.
        if (latest.current.draft.key === key) keep({ ...latest.current.draft, key: null });
        setProblem(SENT_BEFORE);
        return;
      }
      setProblem(`Not sent; your message is still here. ${stillToSay(error)}`.trim());
    }
  };
  const send = () => {
    if (busy.current || (!draft.text.trim() && !images.length)) return;
    busy.current = true;
    setSending(true);
    void attempt().finally(() => {
      busy.current = false;
      setSending(false);
    });
  };

  const addFiles = (files: File[]) => {
    reading.current = reading.current
      .then(() => attach(latest.current.images, files))
      .then(({ images, problem }) => {
        keepImages(images);
        // What was said of the other files that came with them stays.
        if (problem) setProblem((said) => [said, problem].filter(Boolean).join(" "));
      });
  };

  return {
    text: draft.text,
    images,
    problem,
    isSending,
    thinking,
    setThinking: (next) => {
      keptThinking.set(draftId, next);
      setThinking(next);
      keep({ ...latest.current.draft, key: null });
    },
    setText: (text) => keep({ text, key: null }),
    addFiles,
    removeImage: (at) => keepImages(latest.current.images.filter((_, other) => other !== at)),
    setProblem,
    send,
  };
}

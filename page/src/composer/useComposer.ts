import { useRef, useState } from "react";
import { errorText } from "../api/client";
import { sendMessage } from "../store/actions";
import { loadDraft, newKey, saveDraft, type Draft } from "./drafts";
import { attach, type Attachment } from "./images";

/** Images do not fit into the browser's storage; they stay while the tab does. */
const keptImages = new Map<string, Attachment[]>();

export interface Composing {
  text: string;
  images: Attachment[];
  problem: string | null;
  isSending: boolean;
  setText: (text: string) => void;
  addFiles: (files: File[]) => void;
  removeImage: (at: number) => void;
  setProblem: (problem: string | null) => void;
  send: () => void;
}

/** What stands in the box, kept until the server has accepted it. */
export function useComposer(draftId: string): Composing {
  const [draft, setDraft] = useState<Draft>(() => loadDraft(draftId));
  const [images, setImages] = useState<Attachment[]>(() => keptImages.get(draftId) ?? []);
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const busy = useRef(false);

  const keep = (next: Draft) => {
    setDraft(next);
    saveDraft(draftId, next);
  };
  const keepImages = (next: Attachment[]) => {
    keptImages.set(draftId, next);
    setImages(next);
    // Other images make another message.
    keep({ ...draft, key: null });
  };

  const attempt = async () => {
    const key = draft.key ?? newKey();
    keep({ ...draft, key });
    try {
      await sendMessage({ text: draft.text, images: images.map(({ mediaType, data }) => ({ mediaType, data })), key });
      keptImages.delete(draftId);
      setImages([]);
      keep({ text: "", key: null });
      setProblem(null);
    } catch (error) {
      setProblem(`Not sent; your message is still here. ${errorText(error)}`);
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
    attach(images, files).then(keepImages, (error: unknown) => setProblem(errorText(error)));
  };

  return {
    text: draft.text,
    images,
    problem,
    isSending,
    setText: (text) => keep({ text, key: null }),
    addFiles,
    removeImage: (at) => keepImages(images.filter((_, other) => other !== at)),
    setProblem,
    send,
  };
}

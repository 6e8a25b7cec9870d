import { useLayoutEffect, useRef, useState } from "react";
import { bytesAt } from "../api/bytes";
import { askBefore } from "../branches/asking";
import { ApiError, errorText } from "../api/client";
import { documents as api, documentUrl } from "../api/documents";
import type { Shown } from "../documents/documents";
import { aboutFile } from "../documents/sentences";
import { stillToSay, tell } from "../shell/messages";
import { compactConversation, sendMessage } from "../store/actions";
import { returnToPlace } from "../store/branching";
import { isTheEnd } from "../store/placing";
import { getState, useApp } from "../store/store";
import { wishIn } from "./commands";
import { loadDraft, newKey, noDraft, saveDraft, type Draft } from "./drafts";
import { attach, type Attachment } from "./images";

const SENT_BEFORE =
  "This was sent before, in another conversation or with other attachments. Look there first; sending again sends it once more.";
/** Images do not fit into the browser's storage; they stay while the tab does. */
const keptImages = new Map<string, Attachment[]>();
/** What the person said here about thinking holds until they say otherwise, or the tab is closed. */
const keptThinking = new Map<string, boolean>();

/** As many as the server takes; said here so that a person hears it at once. */
const MAX_DOCUMENTS = 10;

/** A file on its way to the server. */
export interface Waiting {
  name: string;
  bytes: number;
}

export interface Composing {
  text: string;
  images: Attachment[];
  documents: readonly Shown[];
  /** The files that the server still reads. */
  waiting: readonly Waiting[];
  addDocuments: (files: readonly File[]) => void;
  removeDocument: (id: string) => void;
  /** Put a pasted text back into the box. */
  asText: (document: Shown) => void;
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

interface Sent {
  text: string;
  images: readonly Attachment[];
  documents: readonly Shown[];
}

/** What of a document is kept with the draft. */
const cardOf = ({ id, name, kind, bytes, pages, characters, preview, note }: Shown): Shown => ({
  id,
  name,
  kind,
  bytes,
  pages,
  characters,
  preview,
  note,
});

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

  const [waiting, setWaiting] = useState<readonly Waiting[]>([]);
  /** How many files were given so far, and which turn each document had. */
  const given = useRef(0);
  const turns = useRef(new Map<string, number>());

  const isOpen = useApp(({ open }) => open?.conversation.id === draftId);
  useLayoutEffect(() => {
    const { draft: now, images: attached } = latest.current;
    const hasDraft = Boolean(now.text.trim() || now.documents.length || attached.length);
    if (isOpen) returnToPlace(draftId, hasDraft).catch(tell);
  }, [isOpen, draftId]);

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
  const accepted = (id: string, sent: Sent) => {
    const { draft: now, images: attached } = latest.current;
    const text = now.text === sent.text ? "" : now.text;
    const left = attached.filter((image) => !sent.images.includes(image));
    const documents = now.documents.filter((document) => !sent.documents.includes(document));
    if (id === draftId) {
      keepImages(left);
      keep({ text, key: null, documents });
      return;
    }
    // The first message of a conversation: its box takes over.
    keptImages.delete(draftId);
    keptThinking.delete(draftId);
    if (thinking !== null) keptThinking.set(id, thinking);
    saveDraft(draftId, noDraft);
    keptImages.set(id, left);
    saveDraft(id, { text, key: null, documents });
  };

  /** Tell the host what was meant for it; pictures stay for the next message. */
  const sumUp = async (text: string, keep: string) => {
    try {
      accepted(await compactConversation(keep), { text, images: [], documents: [] });
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
    const sent = { text, images: latest.current.images, documents: latest.current.draft.documents };
    // All that was to go with it could not be read: that is said already, and there is nothing to send.
    if (!text.trim() && !sent.images.length && !sent.documents.length) return;
    const key = latest.current.draft.key ?? newKey();
    if (latest.current.draft.text === text) keep({ ...latest.current.draft, key });
    try {
      const state = getState();
      // Where nothing follows, nothing is left behind.
      const place = isTheEnd(state) ? null : state.branching;
      const whenBusy = place ? await askBefore(place.runId, place.instead) : "finish";
      if (!whenBusy) return;
      const images = sent.images.map(({ mediaType, data, name }) => ({ mediaType, data, name }));
      const documents = sent.documents.map(({ id }) => id);
      const { compared } = getState();
      accepted(await sendMessage({ text, images, documents, key, thinking: canThink ? thinking : null, whenBusy, compared }), sent);
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
    if (busy.current || (!draft.text.trim() && !images.length && !draft.documents.length && !waiting.length)) return;
    busy.current = true;
    setSending(true);
    void attempt().finally(() => {
      busy.current = false;
      setSending(false);
    });
  };

  /** Say one thing more, on a line of its own. */
  const say = (more: string) => setProblem((said) => [said, more].filter(Boolean).join("\n"));

  /** Give a file to the server; what it could read is in the box from then on. */
  const give = async (file: File, turn: number) => {
    const here: Waiting = { name: file.name, bytes: file.size };
    setWaiting((now) => [...now, here]);
    try {
      const { document } = await api.upload(file.name, file);
      const { draft: now } = latest.current;
      const others = now.documents.filter(({ id }) => id !== document.id);
      turns.current.set(document.id, turn);
      // In the order in which they were given, whichever was read first.
      const turnOf = ({ id }: Shown) => turns.current.get(id) ?? 0;
      keep({ ...now, key: null, documents: [...others, cardOf(document)].sort((a, b) => turnOf(a) - turnOf(b)) });
    } catch (error) {
      say(aboutFile(file.name, error));
    } finally {
      setWaiting((now) => now.filter((one) => one !== here));
    }
  };

  const addDocuments = (files: readonly File[]) => {
    const room = MAX_DOCUMENTS - latest.current.draft.documents.length - waiting.length;
    if (files.length > room) return say(`A message can have at most ${MAX_DOCUMENTS} documents.`);
    const first = (given.current += files.length) - files.length;
    const all = Promise.all(files.map((file, at) => give(file, first + at + 1)));
    reading.current = reading.current.then(() => all).then(() => undefined);
  };

  const removeDocument = (gone: string) => {
    const { draft: now } = latest.current;
    keep({ ...now, key: null, documents: now.documents.filter(({ id }) => id !== gone) });
  };

  const asText = async (document: Shown) => {
    try {
      const pasted = await (await bytesAt(documentUrl(document))).text();
      removeDocument(document.id);
      const { draft: now } = latest.current;
      keep({ ...now, text: now.text ? `${now.text}\n${pasted}` : pasted });
    } catch (error) {
      say(errorText(error));
    }
  };

  const addFiles = (files: File[]) => {
    reading.current = reading.current
      .then(() => attach(latest.current.images, files))
      .then(({ images, problem }) => {
        keepImages(images);
        // What was said of the other files that came with them stays.
        if (problem) say(problem);
      });
  };

  return {
    text: draft.text,
    images,
    documents: draft.documents,
    waiting,
    addDocuments,
    removeDocument,
    asText: (document) => void asText(document),
    problem,
    isSending,
    thinking,
    setThinking: (next) => {
      keptThinking.set(draftId, next);
      setThinking(next);
      keep({ ...latest.current.draft, key: null });
    },
    setText: (text) => keep({ ...latest.current.draft, text, key: null }),
    addFiles,
    removeImage: (at) => keepImages(latest.current.images.filter((_, other) => other !== at)),
    setProblem,
    send,
  };
}

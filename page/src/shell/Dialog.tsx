import { Modal, type ModalProps } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useRef, type ReactNode } from "react";

interface DialogProps<T> extends Omit<ModalProps, "about" | "opened" | "title" | "children" | "fullScreen"> {
  /** What it is about; null closes it. */
  about: T | null;
  title: (about: T) => string;
  children: (about: T) => ReactNode;
}

/** A dialog about one thing: as large as a phone, and while it fades away it still shows what it showed. */
export function Dialog<T>({ about, title, children, ...props }: DialogProps<T>) {
  const isNarrow = useMediaQuery("(max-width: 600px)", false, { getInitialValueInEffect: false });
  const kept = useRef(about);
  if (about !== null) kept.current = about;
  const shown = kept.current;
  return (
    <Modal {...props} opened={about !== null} title={shown === null ? "" : title(shown)} fullScreen={isNarrow}>
      {shown !== null && children(shown)}
    </Modal>
  );
}

import { useEffect, useState, type RefObject } from "react";

/** Put the cursor into the field of a key, once it is drawn. */
export function useFocusKey(form: RefObject<HTMLFormElement | null>) {
  const [wanted, setWanted] = useState<{ id: string } | null>(null);
  useEffect(() => {
    if (wanted) form.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(wanted.id)}"] [data-key-value] input`)?.focus();
  }, [form, wanted]);
  return (id: string) => setWanted({ id });
}
